import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, describe, expect, it } from '@jest/globals';

import { Admission, Clock, type Lease } from '../../src/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import type { FakeClock } from '../../src/testing/index.js';
import { type Script, ScriptedProvider } from '../../src/testing/index.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { openRawStream, postJson } from '../support/sse.js';
import { TestPolicy } from '../support/test-policy.js';
import type { Transport } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';

const LIMIT_MS = 60_000;
const ERROR = { code: 'turn_time_limit_exceeded', message: 'The turn took longer than its limit of 60 seconds.' };

/** More than the buffers of the kernel on both sides hold. */
const LARGE = 'x'.repeat(1024 * 1024);

/** Counts the leases that are out, and may keep turns waiting. */
class CountingAdmission extends Admission {
  out = 0;
  readonly asked = Promise.withResolvers<undefined>();
  isClosed = false;

  override acquire(): Lease | Promise<Lease> {
    this.asked.resolve(undefined);
    if (this.isClosed) return new Promise(() => undefined);
    this.out += 1;
    return { release: () => void (this.out -= 1) };
  }
}

describe('MAX_TURN_MS', () => {
  const clock = new WatchedClock();
  const policy = new TestPolicy();
  const observer = new RecordingObserver();
  const admission = new CountingAdmission();
  afterAll(() => clock.letGo());
  const service = useService({
    providers: [ScriptedProvider],
    imports: [policy.asModule(), observer.asModule()],
    environment: { MAX_TURN_MS: LIMIT_MS, MODEL_IDLE_TIMEOUT_MS: 10_000, MAX_OUTPUT_CHARACTERS: 100 * LARGE.length },
    overrides: [
      [Clock, clock],
      [Admission, admission],
    ],
  });
  let turns = 0;

  /** The next turn to end; everything that it held is free. */
  async function expectSettled(status: string): Promise<void> {
    turns += 1;
    expect((await observer.whenSettled(turns)).at(-1)).toMatchObject({ status });
    expect(admission.out).toBe(0);
    expect(service.app.get(RunningTurns).size).toBe(0);
  }

  async function expectFailure(transport: Transport): Promise<void> {
    const { response, events } = await transport.run(service, { model: 'scripted', input: 'Go on.' });
    expect(response).toMatchObject({ status: 'failed', error: ERROR });
    if (events !== undefined) expect(events.at(-1)?.type).toBe('response.failed');
    await expect(service.client().responses.retrieve(response.id)).resolves.toMatchObject({
      status: 'failed',
      error: ERROR,
    });
    await expectSettled('failed');
  }

  it.each(TRANSPORTS)('MAX_TURN_MS ends a model that trickles, over $name', async (transport) => {
    const { script, aborted } = trickle(clock);
    service.provider.play(script);
    await expectFailure(transport);
    await aborted;
  });

  it.each(TRANSPORTS)('MAX_TURN_MS ends a policy that never answers, over $name', async (transport) => {
    const stopped = Promise.withResolvers<undefined>();
    policy.follow = () => ({
      answer: ({ signal }) => {
        signal.addEventListener('abort', () => stopped.resolve(undefined));
        setImmediate(() => clock.advance(LIMIT_MS));
        return new Promise(() => undefined);
      },
    });
    service.provider.reply({ type: 'function_call', name: 'weather' });
    await expectFailure(transport);
    await stopped.promise;
    policy.follow = () => undefined;
  });

  it('MAX_TURN_MS ends a turn whose client does not read, while its model goes on', async () => {
    let pulled = 0;
    service.provider.play(async function* () {
      for (;;) {
        pulled += 1;
        yield await Promise.resolve({ type: 'text' as const, delta: LARGE });
      }
    });
    const { socket } = openUnread(service.port);
    while (pulled === 0) await nextLoopTurn();
    await whenStill(() => pulled);
    expect(pulled).toBeLessThan(100);
    clock.advance(LIMIT_MS);
    await expectSettled('failed');
    await expectFailedStream(socket);
  });

  it('MAX_TURN_MS ends a turn whose client does not read, when its model is done', async () => {
    const done = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      try {
        yield [
          ...Array.from({ length: 10 }, () => ({ type: 'text' as const, delta: LARGE })),
          { type: 'usage', input: 1, output: 1 },
          { type: 'finish', reason: 'stop' },
        ];
      } finally {
        done.resolve(undefined);
      }
    });
    const { socket } = openUnread(service.port);
    await done.promise;
    await nextLoopTurn();
    expect(service.app.get(RunningTurns).size).toBe(1);
    clock.advance(LIMIT_MS);
    await expectSettled('failed');
    await expectFailedStream(socket);
  });

  it('MAX_TURN_MS counts from the moment the turn entered: one that was never admitted is refused', async () => {
    admission.isClosed = true;
    const answer = postJson(`${service.baseURL}/responses`, { model: 'scripted', input: 'Go on.' });
    await admission.asked.promise;
    while (service.app.get(RunningTurns).size === 0) await nextLoopTurn();
    clock.advance(LIMIT_MS - 1);
    expect(service.app.get(RunningTurns).size).toBe(1);
    clock.advance(1);
    await expect(answer).resolves.toMatchObject({ status: 504, body: { error: { ...ERROR, type: 'server_error' } } });
    await expectSettled('refused');
    admission.isClosed = false;
  });

  it('MAX_TURN_MS leaves no timer behind a turn that ends in time', async () => {
    const { pending } = clock;
    const asked = { model: 'scripted', input: 'Hello.' };
    await expect(postJson(`${service.baseURL}/responses`, asked)).resolves.toMatchObject({
      body: { status: 'completed' },
    });
    await expectSettled('completed');
    expect(clock.pending).toBe(pending);
  });
});

/** A model that says a word every nine seconds, for ever. */
function trickle(clock: FakeClock): { readonly script: Script; readonly aborted: Promise<undefined> } {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const script: Script = async function* (_turn, { signal }) {
    signal.addEventListener('abort', () => resolve(undefined));
    for (;;) {
      yield { type: 'text', delta: 'and ' };
      await nextLoopTurn();
      clock.advance(9000);
    }
  };
  return { script, aborted };
}

/** A stream of which the client reads nothing yet. */
function openUnread(port: number): { readonly socket: Socket } {
  const { socket } = openRawStream(port, { model: 'scripted', input: 'Go on.' });
  socket.pause();
  return { socket };
}

/** Reads the stream to its end, which says why the response failed. */
async function expectFailedStream(socket: Socket): Promise<void> {
  const missing = new Set(['event: response.failed', `"code":"${ERROR.code}"`]);
  let last = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    const text = last + chunk.toString('latin1');
    for (const words of missing) if (text.includes(words)) missing.delete(words);
    last = text.slice(-64);
  }
  expect([...missing]).toEqual([]);
}
