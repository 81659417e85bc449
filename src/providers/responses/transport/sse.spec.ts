import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { zstdDecompressSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import { freePort } from '../../../../test/support/ports.js';
import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import { openedFor } from '../../../../test/support/opened-connections.js';
import { addressOf, type StartedServer, startServer } from '../../../../test/support/responses-transport/with-pool.js';
import { TestTaker } from '../../../../test/support/test-sink.js';
import { FakeClock } from '../../../testing/index.js';
import { UpstreamClient } from '../../upstream-http/upstream-client.js';
import type { UpstreamError } from '../upstream-error.js';
import { AnswerRefusedError, type Exchange } from './exchange.js';
import { openSse, type SseRequest } from './sse-exchange.js';

const CREATED = '{"type":"response.created"}';
const DELTA = '{"type":"response.output_text.delta"}';
const COMPLETED = '{"type":"response.completed"}';
const IDLE_MS = 300_000;

interface Asked {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly client: UpstreamClient;
  readonly open: (changes?: Partial<SseRequest>) => Promise<Exchange>;
}

const data = (...texts: readonly string[]): string => texts.map((text) => `data: ${text}\n\n`).join('');

async function withServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  check: (asked: Asked) => Promise<void>,
): Promise<void> {
  await using server = await startServer({ onRequest: answer });
  const clock = new FakeClock();
  const client = new UpstreamClient(addressOf(server.port), clock);
  const request = { body: '{"model":"m"}', headers: {}, compresses: false, idleMs: IDLE_MS, clock };
  const { signal } = new AbortController();
  try {
    await check({ server, clock, client, open: (changes) => openSse(client, { ...request, signal, ...changes }) });
  } finally {
    await client.destroy();
  }
}

/** Answers with pieces of an event stream; `after` says how the body goes on. */
function stream(pieces: string, after: (response: ServerResponse) => void = (response) => response.end()) {
  return (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-models-etag': 'e1' });
    response.write(pieces, () => after(response));
  };
}

const stay = (): void => undefined;

describe('an answer over SSE', () => {
  it('an answer over SSE is asked for with the headers of the address and of the request', async () => {
    const seen: { url?: string; headers?: IncomingMessage['headers']; body?: string } = {};
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const body = Buffer.concat(pieces);
      const isCompressed = request.headers['content-encoding'] === 'zstd';
      Object.assign(seen, {
        url: request.url,
        headers: request.headers,
        body: (isCompressed ? zstdDecompressSync(body) : body).toString(),
      });
      stream(data(COMPLETED))(request, response);
    };
    await withServer(
      (request, response) => void answer(request, response),
      async ({ open }) => {
        for (const compresses of [false, true]) {
          const exchange = await open({ headers: { 'session-id': 's1' }, compresses });
          await exchange.read(new TestTaker());
          expect(exchange).toMatchObject({ transport: 'sse', headers: { 'x-models-etag': 'e1' } });
          expect(seen.url).toBe('/v1/responses?api-version=1');
          expect(seen.body).toBe('{"model":"m"}');
          expect(seen.headers).toMatchObject({
            accept: 'text/event-stream',
            authorization: 'Bearer key',
            'content-type': 'application/json',
            'session-id': 's1',
          });
          expect(seen.headers?.['content-encoding']).toBe(compresses ? 'zstd' : undefined);
        }
      },
    );
  });

  it('an answer over SSE is passed on with one flush for each piece, and not read beyond its end', async () => {
    await withServer(stream(data(CREATED, DELTA, COMPLETED, DELTA)), async ({ open, clock }) => {
      const taker = new TestTaker();
      await (await open()).read(taker);
      expect(taker.batches).toEqual([[CREATED, DELTA, COMPLETED]]);
      expect(clock.pending).toBe(0);
    });
  });

  it('an answer over SSE leaves its connection to the next request (§3.4: completed ends the reading)', async () => {
    await withServer(stream(data(COMPLETED)), async ({ open, server }) => {
      const turn = async (): Promise<void> => {
        await (await open()).read(new TestTaker());
        await whenStill(() => server.connections);
      };
      expect(await openedFor(server, [turn, turn, turn])).toBeLessThanOrEqual(1);
    });
  });

  it.each([
    ['its end (§3.4)', stream(data(CREATED)), 'stream closed before response.completed'],
    ['an end within an event (§3.4)', stream(`${data(CREATED)}event: x`), 'stream closed before response.completed'],
    ['a broken connection', stream(data(CREATED), (response) => response.destroy()), 'other side closed'],
  ])('an answer over SSE fails with %s, after what has arrived', async (_name, answer, message) => {
    await withServer(answer, async ({ open, clock }) => {
      const taker = new TestTaker();
      await expect((await open()).read(taker)).rejects.toMatchObject({
        name: 'UpstreamError',
        message,
        remedy: 'retry',
      });
      expect(taker.events).toEqual([CREATED]);
      expect(clock.pending).toBe(0);
    });
  });

  it('an answer over SSE is read to its last event without the blank line after it', async () => {
    await withServer(stream(`data: ${COMPLETED}`), async ({ open }) => {
      const taker = new TestTaker();
      await (await open()).read(taker);
      expect(taker.events).toEqual([COMPLETED]);
    });
  });

  it('an answer over SSE fails when no event with data arrives in time; comments do not count (§3.4)', async () => {
    let response: ServerResponse | undefined;
    const keep = (opened: ServerResponse): void => void (response = opened);
    await withServer(stream(data(CREATED), keep), async ({ open, clock }) => {
      const taker = new TestTaker();
      const reading = (await open()).read(taker);
      const failed = expect(reading).rejects.toThrow('idle timeout waiting for SSE');
      await taker.taken(1);
      clock.advance(IDLE_MS - 1);
      response?.write(data('no JSON'));
      await taker.taken(2);
      clock.advance(IDLE_MS - 1);
      let pieces = 0;
      const { socket } = response as ServerResponse;
      response?.write(': still here\n\n', () => (pieces += 1));
      await whenStill(() => pieces + (socket?.bytesWritten ?? 0));
      clock.advance(1);
      await failed;
    });
  });

  it('an answer over SSE waits while the reader has no room, and no timeout runs meanwhile', async () => {
    let response: ServerResponse | undefined;
    await withServer(
      stream(data(CREATED), (opened) => (response = opened)),
      async ({ open, clock }) => {
        const taker = new TestTaker();
        taker.fill();
        const reading = (await open()).read(taker);
        await taker.taken(1);
        response?.end(data(DELTA, COMPLETED));
        await whenStill(() => taker.events.length);
        clock.advance(2 * IDLE_MS);
        expect(taker.events).toEqual([CREATED]);
        taker.drain();
        await reading;
        expect(taker.events).toEqual([CREATED, DELTA, COMPLETED]);
      },
    );
  });

  it.each(['signal', 'abort'])('an answer over SSE ends at once by its %s', async (way) => {
    let closed: Promise<unknown> = Promise.resolve();
    await withServer(
      stream(data(CREATED), (response) => void (closed = once(response, 'close'))),
      async ({ open, clock }) => {
        const controller = new AbortController();
        const exchange = await open({ signal: controller.signal });
        const taker = new TestTaker();
        const reading = exchange.read(taker);
        const failed = expect(reading).rejects.toThrow(way === 'signal' ? 'stopped' : 'the answer was given up');
        await taker.taken(1);
        if (way === 'signal') controller.abort(new Error('stopped'));
        else exchange.abort();
        await failed;
        await closed;
        expect(clock.pending).toBe(0);
      },
    );
  });

  it('an answer over SSE reports a refusal with its status, headers and text', async () => {
    const refuse = (_request: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(429, { 'retry-after': '3' }).end('{"error":{}}');
    };
    await withServer(refuse, async ({ open, clock }) => {
      const refused = await open().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(AnswerRefusedError);
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '3' }, text: '{"error":{}}' });
      expect(clock.pending).toBe(0);
    });
  });

  it('an answer over SSE reports a server that hangs up or stays silent before the answer', async () => {
    await withServer(
      (request) => request.socket.destroy(),
      async ({ open }) => {
        const error = (await open().catch((reason: unknown) => reason)) as UpstreamError;
        expect(error.options).toMatchObject({ remedy: 'retry', isRequestLevel: true, isUnreachable: false });
      },
    );
    let asked = Promise.withResolvers<undefined>();
    await withServer(
      () => asked.resolve(undefined),
      async ({ open, clock }) => {
        const opening = open().catch((reason: unknown) => reason);
        await asked.promise;
        clock.advance(20_000);
        expect(((await opening) as UpstreamError).options).toMatchObject({ remedy: 'retry', isRequestLevel: true });
        const stop = new AbortController();
        asked = Promise.withResolvers();
        const stopping = expect(open({ signal: stop.signal })).rejects.toThrow('stopped');
        await asked.promise;
        stop.abort(new Error('stopped'));
        await stopping;
      },
    );
  });

  it('an answer over SSE reports a server that cannot be reached', async () => {
    const clock = new FakeClock();
    const client = new UpstreamClient(addressOf(await freePort()), clock);
    const { signal } = new AbortController();
    const request = { body: '{}', headers: {}, compresses: false, idleMs: IDLE_MS, clock, signal };
    const error = (await openSse(client, request).catch((reason: unknown) => reason)) as UpstreamError;
    expect(error.options).toMatchObject({ remedy: 'retry', isRequestLevel: true, isUnreachable: true });
    await client.destroy();
  });

  it('an answer over SSE refuses a compressed answer', async () => {
    const compressed = (_request: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write('x', stay);
    };
    await withServer(compressed, async ({ open }) => {
      await expect((await open()).read(new TestTaker())).rejects.toThrow('`content-encoding: gzip`');
    });
  });
});
