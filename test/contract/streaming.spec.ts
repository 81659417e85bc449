import { once } from 'node:events';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readFrame } from '../../src/testing/events/read-events.js';
import { requireRule } from '../../src/testing/events/rule.js';
import { Clock, type ModelEvent } from '../../src/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { collectStream, openRawStream, openStream, postJson, readEvents } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

/** Proves that a chunk of the encoding consists of whole frames; readers that forget at a chunk's border depend on it. */
function requireWholeFrames(chunk: string): void {
  requireRule(chunk.endsWith('\n\n'), 'an HTTP chunk must end with a whole frame');
  for (const frame of chunk.slice(0, -2).split('\n\n')) if (frame !== 'data: [DONE]') readFrame(frame);
}

const body = { model: 'scripted', input: 'Go on.' };
const text = (delta: string): ModelEvent => ({ type: 'text', delta });
const finish: ModelEvent = { type: 'finish', reason: 'stop' };

describe('a stream', () => {
  const observer = new RecordingObserver();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    environment: { MAX_OUTPUT_CHARACTERS: 1_000_000_000 },
  });
  let url: string;

  beforeAll(() => {
    url = `${service.baseURL}/responses`;
  });

  it.each(['sse', 'json'])('a stream stops the model at once when its client leaves (%s)', async (transport) => {
    const turns = observer.records.length;
    const reached = Promise.withResolvers<undefined>();
    const stopped = Promise.withResolvers<unknown>();
    service.provider.play(async function* (_, { signal }) {
      yield text('before');
      reached.resolve(undefined);
      await once(signal, 'abort');
      stopped.resolve(signal.reason);
    });
    const client = new AbortController();
    const { signal } = client;
    const answer = transport === 'sse' ? collectStream(url, body, { signal }) : postJson(url, body, { signal });
    await reached.promise;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(stopped.promise).resolves.toMatchObject({ reason: 'disconnect' });
    const records = await observer.whenSettled(turns + 1);
    // Its model has reported none: what was asked and written is counted.
    expect(records.at(-1)).toMatchObject({ status: 'disconnected', usage: { input_tokens: 6, output_tokens: 4 } });
    const id = service.provider.turns.at(-1)?.responseId ?? '';
    expect((await fetch(`${url}/${id}`)).status).toBe(404);
    const continued = await postJson(url, { ...body, previous_response_id: id });
    expect(continued).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
  });

  it('a stream takes a provider back to its finally when it has finished', async () => {
    const ended = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      try {
        yield [text('all'), finish];
      } finally {
        ended.resolve(undefined);
      }
    });
    await collectStream(url, body);
    await expect(ended.promise).resolves.toBeUndefined();
  });

  it('a stream pulls no more from the model while its client does not read', async () => {
    const pieces = 200;
    let pulls = 0;
    const exhausted = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      for (; pulls < pieces; pulls += 1) yield text('x'.repeat(256 * 1024));
      exhausted.resolve(undefined);
      // Reported, so that nobody counts the tokens of all that.
      yield [{ type: 'usage', input: 1, output: 1 }, finish];
    });
    const { socket } = openRawStream(service.port, { ...body, store: false });
    socket.pause();
    while (pulls === 0) await nextLoopTurn();
    await whenStill(() => pulls);
    const whilePaused = pulls;
    // What the kernel buffers on the way is some megabytes; the turn would be fifty.
    expect(whilePaused).toBeGreaterThan(0);
    expect(whilePaused).toBeLessThan(pieces / 2);
    socket.resume();
    await exhausted.promise;
    expect(pulls).toBe(pieces);
    socket.destroy();
  });

  it('a stream asks the model for nothing once its client has left that did not read', async () => {
    const turns = observer.records.length;
    let pulls = 0;
    let latePulls = 0;
    const closed = Promise.withResolvers<undefined>();
    service.provider.play((_, { signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          pulls += 1;
          if (signal.aborted) latePulls += 1;
          return { done: false, value: text('x'.repeat(256 * 1024)) };
        },
        return: async () => {
          closed.resolve(undefined);
          return { done: true, value: undefined };
        },
      }),
    }));
    const { socket } = openRawStream(service.port, { ...body, store: false });
    socket.pause();
    while (pulls === 0) await nextLoopTurn();
    await whenStill(() => pulls);
    socket.destroy();
    await closed.promise;
    await observer.whenSettled(turns + 1);
    // Whoever waited for the client has gone on by the next request.
    service.provider.reply(text('next'));
    await collectStream(url, body);
    expect(latePulls).toBe(0);
  });

  it('a stream never splits an event over two chunks', async () => {
    service.provider.play(async function* () {
      for (let round = 0; round < 30; round += 1) yield [text('ж'.repeat(round * 400)), text('short')];
      yield finish;
    });
    const texts: string[] = [];
    for await (const chunk of openRawStream(service.port, body).chunks()) {
      requireWholeFrames(chunk);
      texts.push(chunk);
    }
    expect(texts.length).toBeGreaterThan(1);
    const events = await Array.fromAsync(readEvents(asyncOf(texts)));
    checkEventOrder(events, { transport: 'sse' });
  });

  it.each([
    [{ include_obfuscation: false }, false],
    [{ include_obfuscation: true }, true],
    [{}, true],
    [null, true],
  ])('a stream pads deltas as stream_options %j say', async (stream_options, obfuscated) => {
    service.provider.reply(text('Hello'), { type: 'function_call', name: 'look' });
    const events = await collectStream(url, { ...body, stream_options });
    checkEventOrder(events, { transport: 'sse', obfuscated });
    expect(events.some((event) => 'obfuscation' in event)).toBe(obfuscated);
  });

  it('a stream sends the headers of a provider, and of those only vendor headers', async () => {
    const headers = {
      'x-ratelimit-remaining-requests': '7',
      'X-Vendor-Trace': 'abc',
      'content-length': '5',
      'set-cookie': 'a=b',
      'x-broken': 'line\r\nbreak',
    };
    for (const stream of [true, false]) {
      service.provider.reply({ type: 'metadata', headers }, text('Hello'));
      const answer = stream ? await openStream(url, body) : await postJson(url, body);
      if ('events' in answer) checkEventOrder(await Array.fromAsync(answer.events), { transport: 'sse' });
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('7');
      expect(answer.headers.get('x-vendor-trace')).toBe('abc');
      expect(answer.headers.get('set-cookie')).toBeNull();
      expect(answer.headers.get('x-broken')).toBeNull();
    }
  });

  it('a stream ignores headers that come too late, without harm', async () => {
    service.provider.play(async function* () {
      yield text('Hello');
      yield { type: 'metadata', headers: { 'x-late': '1' } };
      yield finish;
    });
    const answer = await openStream(url, body);
    if (!answer.streams) throw new Error('no stream');
    checkEventOrder(await Array.fromAsync(answer.events), { transport: 'sse' });
    expect(answer.headers.get('x-late')).toBeNull();
  });

  it('the service serves 200 streams at once', async () => {
    const client = service.client();
    const finals = await Promise.all(
      Array.from({ length: 200 }, async (_, number) => {
        service.provider.play(async function* (turn) {
          for (const word of ['You ', 'said ', JSON.stringify(turn.input[0]?.['content'])]) {
            yield text(word);
            await nextLoopTurn();
          }
          yield finish;
        });
        const stream = client.responses.stream({ model: 'scripted', input: `number ${number}` });
        return (await stream.finalResponse()).output_text;
      }),
    );
    for (const [number, said] of finals.entries()) expect(said).toContain(`number ${number}"`);
  });
});

describe('keepalive', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({ providers: [ScriptedProvider], overrides: [[Clock, clock]] });

  it('a keepalive comes after 15 seconds of silence, again after 15 more, and not before', async () => {
    const silent = Promise.withResolvers<undefined>();
    const more = Promise.withResolvers<undefined>();
    service.app.get(ScriptedProvider).play(async function* () {
      yield text('Hello');
      silent.resolve(undefined);
      await more.promise;
      yield [text(' again'), finish];
    });
    const answer = await openStream(`${service.baseURL}/responses`, body);
    if (!answer.streams) throw new Error('no stream');
    const received: string[] = [];
    const read = async (type: string): Promise<void> => {
      while (received.at(-1) !== type) received.push((await answer.events.next()).value?.type ?? type);
    };
    await Promise.all([silent.promise, read('response.output_text.delta')]);
    clock.advance(14_999);
    clock.advance(1);
    await read('keepalive');
    received.push('…');
    clock.advance(15_000);
    await read('keepalive');
    clock.advance(14_999);
    more.resolve(undefined);
    await read('response.completed');
    expect(received.filter((type) => type === 'keepalive')).toHaveLength(2);
    expect(received.slice(received.indexOf('response.output_text.delta'))).toEqual([
      'response.output_text.delta',
      'keepalive',
      '…',
      'keepalive',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });
});

async function* asyncOf(texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}
