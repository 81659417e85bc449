import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { checkEventOrder } from '../../src/testing/index.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startWithScripts } from '../support/script-files.js';
import { SocketClient } from '../support/socket-client.js';
import { readEvents } from '../support/sse.js';
import { TRANSPORTS } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';
import { outputText } from './parity-turn.js';

const IDLE_MS = 10_000;
/** The longest that a timer can wait: what has no end is waited for as long as that. */
const WITHOUT_END_MS = 2_147_483_647;

const FILES = {
  'cut-first.yaml': { turns: [{ cut: true }] },
  'cut-later.yaml': { turns: [{ text: ['I was ', 'about to'], cut: true }] },
  'cut-call.json': {
    turns: [{ steps: [{ call: { name: 'look', arguments: '{"far' } }, { cut: true }, { text: 'never' }] }],
  },
  'stall.yaml': { turns: [{ steps: [{ text: ['I was'] }, { stall: true }, { text: ['never'] }] }] },
  'delay.yaml': { turns: [{ delay: 700, steps: [{ text: ['One. '] }, { delay: 500 }, { text: ['Two.'] }] }] },
};

describe('a script that breaks the connection or falls silent', () => {
  const observer = new RecordingObserver();
  let clock: WatchedClock;
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService(async () => {
    clock = new WatchedClock();

    return startWithScripts(FILES, {
      imports: [observer.asModule()],
      overrides: [[Clock, clock]],
      environment: { MODEL_IDLE_TIMEOUT_MS: IDLE_MS },
    });
  });

  beforeEach(() => {
    observer.records.length = 0;
  });

  const post = (body: object, signal?: AbortSignal): Promise<Response> =>
    fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      ...(signal === undefined ? {} : { signal }),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Go on.', ...body }),
    });

  const expectNothingLeft = async (): Promise<void> => {
    const records = await observer.whenSettled(1);
    expect(records).toMatchObject([{ status: 'disconnected', errorCode: null, provider: 'simulator' }]);
    const { status } = await fetch(`${service.baseURL}/responses/${records[0]?.responseId ?? ''}`);
    expect(status).toBe(404);
  };

  const CUTS = [
    { model: 'cut-first', deltas: [] },
    { model: 'cut-later', deltas: ['I was ', 'about to'] },
    { model: 'cut-call', deltas: ['{"', 'far'] },
  ];

  it.each(CUTS)('a script cuts a JSON client off without an answer: $model', async ({ model }) => {
    await expect(post({ model })).rejects.toThrow('fetch failed');
    await expectNothingLeft();
  });

  it.each(CUTS.slice(1))('a script cuts an SSE client off after what was said: $model', async ({ model, deltas }) => {
    const { body } = await post({ model, stream: true, stream_options: { include_obfuscation: false } });
    let text = '';
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const chunk of body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
    };
    await expect(read()).rejects.toThrow('terminated');
    expect(text).not.toContain('[DONE]');
    expect(text).toMatch(/\n\n$/);
    const events = await eventsOf(text);
    expectUnfinished(events, deltas);
    await expectNothingLeft();
  });

  it('a script cuts an SSE client off before an answer when nothing was said', async () => {
    await expect(post({ model: 'cut-first', stream: true })).rejects.toThrow('fetch failed');
    await expectNothingLeft();
  });

  it.each(CUTS)(
    'a script closes a socket without a handshake after what was said: $model',
    async ({ model, deltas }) => {
      await using client = await SocketClient.open(service);
      client.create({ model, input: 'Go on.' });
      expect(await client.closed).toEqual({ code: 1006, reason: '' });
      if (deltas.length === 0) expect(client.unread).toEqual([]);
      else expectUnfinished(client.unread, deltas);
      await expectNothingLeft();
    },
  );

  it('a client goes on with the next turn on a new connection after a cut', async () => {
    await using own = await startWithScripts({ 'own.yaml': { turns: [{ cut: true }, { text: 'Back.' }] } });
    const client = own.client({ maxRetries: 1 });
    const response = await client.responses.create({ model: 'own', input: 'Hello.' });
    expect(response.output_text).toBe('Back.');
  });

  it.each(TRANSPORTS)('a script fails on $name once a stall has lasted MODEL_IDLE_TIMEOUT_MS', async (transport) => {
    const stalled = clock.whenScheduled(WITHOUT_END_MS);
    const turn = transport.run(service, { model: 'stall', input: 'Go on.' });
    await stalled;
    clock.advance(IDLE_MS - 1);
    for (let loopTurn = 0; loopTurn < 10; loopTurn += 1) await nextLoopTurn();
    expect(observer.records).toEqual([]);
    clock.advance(1);
    expect((await turn).response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringMatching(/did not answer in time/) },
      output: [{ status: 'incomplete', content: [outputText('I was')] }],
    });
  });

  it.each([false, true])('a stall stops when an HTTP client leaves, with stream: %p', async (stream) => {
    const stalled = clock.whenScheduled(WITHOUT_END_MS);
    const client = new AbortController();
    const answer = post({ model: 'stall', stream }, client.signal).then((response) => response.text());
    await stalled;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expectNothingLeft();
  });

  it('a stall stops when a socket leaves', async () => {
    const stalled = clock.whenScheduled(WITHOUT_END_MS);
    await using client = await SocketClient.open(service);
    client.create({ model: 'stall', input: 'Go on.' });
    await stalled;
    client.socket.terminate();
    await expectNothingLeft();
  });

  it.each(TRANSPORTS)('a script is silent on $name for as long as its delays say', async (transport) => {
    let pause = clock.whenScheduled(700);
    const turn = transport.run(service, { model: 'delay', input: 'Go on.' });
    await pause;
    pause = clock.whenScheduled(500);
    clock.advance(700);
    await pause;
    expect(observer.records).toEqual([]);
    clock.advance(500);
    expect((await turn).response).toMatchObject({ output: [{ content: [outputText('One. Two.')] }] });
  });

  it('a script has said what comes before a delay when the delay begins', async () => {
    await using client = await SocketClient.open(service);
    let pause = clock.whenScheduled(700);
    client.create({ model: 'delay', input: 'Go on.' });
    await pause;
    pause = clock.whenScheduled(500);
    clock.advance(700);
    await pause;
    while ((await client.next()).type !== 'response.output_text.delta');
    expect(client.unread).toEqual([]);
    clock.advance(500);
    expect(await client.next()).toMatchObject({ type: 'response.output_text.delta', delta: 'Two.' });
  });
});

/** Reads what came of a stream that broke. */
async function eventsOf(text: string): Promise<readonly { readonly type: string; readonly delta?: unknown }[]> {
  async function* whole(): AsyncGenerator<string> {
    yield `${text}data: [DONE]\n\n`;
  }
  return Array.fromAsync(readEvents(whole()));
}

function expectUnfinished(
  events: readonly { readonly type: string; readonly delta?: unknown }[],
  deltas: unknown,
): void {
  expect(events.flatMap(({ delta }) => (delta === undefined ? [] : [delta]))).toEqual(deltas);
  expect(() => checkEventOrder(events, { transport: 'ws' })).toThrow('must end with a terminal event');
}
