import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { Clock, type ModelEvent } from '../../src/index.js';
import { checkEventOrder, type Script, ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { openStream, postJson } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

const ACCEPT_MS = 1000;
const IDLE_MS = 10_000;
const TIMEOUT = { code: 'server_error', message: 'The model did not answer in time. Please retry your request.' };

const never = (): Promise<never> => new Promise(() => undefined);
const text: ModelEvent = { type: 'text', delta: 'before' };
const finish: ModelEvent = { type: 'finish', reason: 'stop' };

/** A script and the moment from which on it says nothing more. */
interface Stall {
  readonly script: Script;
  readonly reached: Promise<undefined>;
}

/** Yields what is given, and then neither yields nor ends nor listens to its signal. */
function stallAfter(...batches: readonly ModelEvent[]): Stall {
  const { promise: reached, resolve } = Promise.withResolvers<undefined>();
  const script: Script = async function* () {
    yield* batches;
    resolve(undefined);
    await never();
  };
  return { script, reached };
}

describe('a provider that stalls', () => {
  const observer = new RecordingObserver();
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    overrides: [[Clock, clock]],
    environment: { MODEL_ACCEPT_TIMEOUT_MS: ACCEPT_MS, MODEL_IDLE_TIMEOUT_MS: IDLE_MS },
  });
  let url: string;
  let turns = 0;

  beforeAll(() => {
    url = `${service.baseURL}/responses`;
  });

  const body = { model: 'scripted', input: 'Go on.' };

  const play = (script: Script): void => {
    turns += 1;
    service.provider.play(script);
  };

  const stream = async (signal?: AbortSignal): Promise<AsyncGenerator<WireEvent, void, undefined>> => {
    const answer = await openStream(url, body, signal === undefined ? {} : { signal });
    if (!answer.streams) throw new Error(`no stream but HTTP ${answer.status}`);
    return answer.events;
  };

  const expectSettled = async (status: string): Promise<void> => {
    const records = await observer.whenSettled(turns);
    expect(records).toHaveLength(turns);
    expect(records.at(-1)).toMatchObject({ status, model: 'scripted', provider: 'scripted' });
  };

  it('a provider that stalls fails on SSE once MODEL_IDLE_TIMEOUT_MS have passed, and not before', async () => {
    const { script, reached } = stallAfter(text);
    play(script);
    const events = Array.fromAsync(await stream());
    await reached;
    clock.advance(IDLE_MS - 1);
    await nextLoopTurn();
    expect(observer.records).toHaveLength(turns - 1);
    clock.advance(1);
    checkEventOrder(await events, { transport: 'sse' });
    expect((await events).at(-1)).toMatchObject({ type: 'response.failed', response: { error: TIMEOUT } });
    await expectSettled('failed');
  });

  it('a provider that stalls fails in JSON after the same time', async () => {
    const { script, reached } = stallAfter(text);
    play(script);
    const answer = postJson(url, body);
    await reached;
    clock.advance(IDLE_MS);
    await expect(answer).resolves.toMatchObject({
      status: 200,
      body: { status: 'failed', error: TIMEOUT, output: [{ status: 'incomplete' }] },
    });
    await expectSettled('failed');
  });

  it('a provider that stalls begins the stream after MODEL_ACCEPT_TIMEOUT_MS of silence', async () => {
    const { script, reached } = stallAfter();
    play(script);
    const scheduled = clock.whenScheduled(ACCEPT_MS);
    let begun = false;
    const events = stream().finally(() => (begun = true));
    await Promise.all([reached, scheduled]);
    clock.advance(ACCEPT_MS - 1);
    for (let loopTurn = 0; loopTurn < 20; loopTurn += 1) await nextLoopTurn();
    expect(begun).toBe(false);
    clock.advance(1);
    const received = await events;
    const first = [(await received.next()).value, (await received.next()).value];
    expect(first.map((event) => event?.type)).toEqual(['response.created', 'response.in_progress']);
    clock.advance(IDLE_MS);
    const rest = await Array.fromAsync(received);
    checkEventOrder([...first, ...rest], { transport: 'sse' });
    expect(rest.map(({ type }) => type)).toEqual(['response.failed']);
    await expectSettled('failed');
  });

  it.each([
    ['a refusal', (): never => fail()],
    ['an end without a word', () => undefined],
  ])('a provider that stalls fails the response on %s after MODEL_ACCEPT_TIMEOUT_MS', async (_, end) => {
    const late = Promise.withResolvers<undefined>();
    play(async function* () {
      await late.promise;
      end();
      yield* [];
    });
    const scheduled = clock.whenScheduled(ACCEPT_MS);
    const events = stream();
    await scheduled;
    clock.advance(ACCEPT_MS);
    const received = await events;
    const created = await received.next();
    late.resolve(undefined);
    const all = [created.value, ...(await Array.fromAsync(received))];
    checkEventOrder(all, { transport: 'sse' });
    expect(all.at(-1)).toMatchObject({ type: 'response.failed', response: { error: { code: 'server_error' } } });
    expect(JSON.stringify(all)).not.toContain('secret');
    await expectSettled('failed');
  });

  /** Ways of not noticing that nobody listens any more. */
  const deaf: readonly (readonly [what: string, make: () => Stall])[] = [
    ['stalls before it begins', () => stallAfter()],
    ['stalls in the middle', () => stallAfter(text)],
    ['goes on and on', () => goOnWith([text])],
    ['yields empty batches for ever', () => goOnWith([])],
  ];

  it.each(deaf)('the service lets go of a provider that %s when an SSE client leaves', async (_, make) => {
    await expectLeave(make(), async (signal) => Array.fromAsync(await stream(signal)));
  });

  it.each(deaf)('the service lets go of a provider that %s when a JSON client leaves', async (_, make) => {
    await expectLeave(make(), (signal) => postJson(url, body, { signal }));
  });

  it('the service lets go of a provider that counts tokens for ever when the client leaves', async () => {
    const counting = Promise.withResolvers<undefined>();
    const spy = jest.spyOn(service.provider, 'countTokens').mockImplementation(() => {
      counting.resolve(undefined);
      return never();
    });
    const script: Script = async function* () {
      yield [text, finish];
    };
    await expectLeave({ script, reached: counting.promise }, (signal) => postJson(url, body, { signal })).finally(() =>
      spy.mockRestore(),
    );
  });

  const expectLeave = async (stall: Stall, request: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
    play(stall.script);
    const client = new AbortController();
    const answer = request(client.signal);
    await stall.reached;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expectSettled('disconnected');
    const id = service.provider.turns.at(-1)?.responseId ?? '';
    expect((await fetch(`${url}/${id}`)).status).toBe(404);
  };

  function goOnWith(batch: readonly ModelEvent[]): Stall {
    const { promise: reached, resolve } = Promise.withResolvers<undefined>();
    const script: Script = async function* () {
      for (let round = 0; ; round += 1) {
        yield batch;
        if (round === 100) resolve(undefined);
        if (round % 10 === 0) await nextLoopTurn();
      }
    };
    return { script, reached };
  }
});

function fail(): never {
  throw new Error('secret of the provider');
}
