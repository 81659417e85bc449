import { type IncomingMessage, request as openRequest } from 'node:http';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { brotliCompressSync, constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';

import { afterEach, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { heldBy, MEGABYTE, until } from '../support/held-bodies.js';
import { findErrorFault } from '../support/raw-checks.js';
import { takeStock, watchMemory } from '../support/raw-heap.js';
import { exchange, openSocket } from '../support/raw-socket.js';

/** A request whose last byte is not sent. */
interface UnfinishedBody {
  /** Resolves with the answer: whoever gets one before the body is complete was refused. */
  readonly answer: Promise<{ readonly status: number; readonly retryAfter: string | undefined; readonly text: string }>;
  /** Sends the last byte. */
  finish(): void;
  /** Goes away without a word. */
  vanish(): void;
}

/** Posts all of a body but its last byte to `/v1/responses`. */
function sendUnfinished(
  { port }: { readonly port: number },
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): UnfinishedBody {
  const request = openRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/responses',
    headers: { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  }).then(async (message) => ({
    status: message.statusCode ?? 0,
    retryAfter: message.headers['retry-after'],
    text: await text(message),
  }));
  answer.catch(() => undefined);
  request.write(body.subarray(0, -1));
  return { answer, finish: () => request.end(body.subarray(-1)), vanish: () => request.destroy() };
}

const LIMIT = 4 * MEGABYTE;
const TOTAL = 16 * MEGABYTE;
/** Bodies that would hold five times the budget. */
const COUNT = 20;
/** What Node and the decoders hold for each, beyond what is counted. */
const MARGIN = 48 * MEGABYTE;

const service = useService({ environment: { BODY_LIMIT_BYTES: LIMIT, BODY_TOTAL_BYTES: TOTAL } });
const open: UnfinishedBody[] = [];

afterEach(async () => {
  for (const body of open.splice(0)) body.vanish();
  await untilHeld(0);
});

/** A request of this many bytes, which compresses well. */
function bodyOf(bytes: number): Buffer {
  const request = (padding: string): string =>
    JSON.stringify({ model: 'gpt-4.1', input: 'Hi', client_metadata: { padding } });
  return Buffer.from(request('x'.repeat(bytes - request('').length)));
}

function send(body: Buffer, headers?: Readonly<Record<string, string>>): UnfinishedBody {
  const unfinished = sendUnfinished(service, body, headers);
  open.push(unfinished);
  return unfinished;
}

const held = (): number => heldBy(service);

/** Waits until bodies hold this much. */
async function untilHeld(bytes: number): Promise<void> {
  await until(() => held() === bytes);
}

function ask(): Promise<Response> {
  return fetch(`${service.origin}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOf(100_000),
  });
}

const CODINGS: readonly (readonly [name: string, compress: (body: Buffer) => Buffer])[] = [
  ['zstd', zstdCompressSync],
  ['gzip', gzipSync],
  ['br', (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['identity', (body) => body],
];

describe.each(CODINGS)('unfinished bodies in %s', (coding, compress) => {
  const headers = { 'content-encoding': coding };
  const bomb = compress(bodyOf(LIMIT));

  it('unfinished bodies share a budget: beyond it the largest are refused with 503, and small ones still pass', async () => {
    const limit = TOTAL + MARGIN;
    const growth = watchMemory(limit);
    let most = 0;
    const bodies = Array.from({ length: COUNT }, () => send(bomb, headers));
    const refused: number[] = [];
    const watching = Promise.all(
      bodies.map(async ({ answer }, index) => {
        const { status, retryAfter, text } = await answer;
        expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '1' });
        expect(findErrorFault(text)).toBeUndefined();
        expect(JSON.parse(text)).toMatchObject({ error: { code: 'server_is_overloaded' } });
        refused.push(index);
      }),
    );
    watching.catch(() => undefined);
    // One byte is missing of each, in which a decoder may keep back a block.
    while (refused.length < COUNT - TOTAL / LIMIT - 1) {
      most = Math.max(most, growth());
      expect(held()).toBeLessThanOrEqual(TOTAL);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(most).toBeLessThan(limit);
    const small = await ask();
    expect(small.status).toBe(200);
    expect(await small.json()).toMatchObject({ status: 'completed' });
  });

  it('unfinished bodies hold nothing once their clients have left', async () => {
    const bodies = [send(bomb, headers), send(bomb, headers)];
    await until(() => held() >= LIMIT);
    for (const body of bodies) body.vanish();
    await untilHeld(0);
  });

  it('unfinished bodies hold nothing once they are read', async () => {
    const body = send(compress(bodyOf(LIMIT)), headers);
    body.finish();
    expect(await body.answer).toMatchObject({ status: 200 });
    await untilHeld(0);
  });
});

describe('a body that is refused holds nothing', () => {
  it('a refused body holds nothing when it grows beyond BODY_LIMIT_BYTES, while the client still sends', async () => {
    const body = send(zstdCompressSync(bodyOf(LIMIT + MEGABYTE)), { 'content-encoding': 'zstd' });
    expect(await body.answer).toMatchObject({ status: 413 });
    await untilHeld(0);
  });

  it('a refused body holds nothing when it is not what it says', async () => {
    const body = send(Buffer.from('{"model":"gpt-4.1","input":"Hi"}'), { 'content-encoding': 'gzip' });
    expect(await body.answer).toMatchObject({ status: 400 });
    await untilHeld(0);
  });

  it('a refused body holds nothing when it is not JSON by its type', async () => {
    const body = send(gzipSync(bodyOf(LIMIT)), { 'content-encoding': 'gzip', 'content-type': 'text/plain' });
    expect(await body.answer).toMatchObject({ status: 415 });
    await untilHeld(0);
  });

  it('a refused body holds nothing when it asks for more memory than its content needs', async () => {
    const window = { params: { [constants.ZSTD_c_windowLog]: 27 } };
    const packed = await buffer(Readable.from([bodyOf(1000)]).pipe(createZstdCompress(window)));
    const body = send(packed, { 'content-encoding': 'zstd' });
    body.finish();
    expect(await body.answer).toMatchObject({ status: 400 });
  });
});

/** A request as it is on the wire. */
function rawRequest(head: string, body: Uint8Array = new Uint8Array()): Buffer {
  const length = `content-length: ${body.length}\r\n`;
  return Buffer.concat([Buffer.from(`${head}\r\nhost: 127.0.0.1\r\n${length}\r\n`), body]);
}

describe('the connection of a body that is refused', () => {
  const JSON_HEAD = 'POST /v1/responses HTTP/1.1\r\ncontent-type: application/json';
  const garbage = Buffer.from('no gzip at all, and then some');
  const last = rawRequest('GET /healthz HTTP/1.1\r\nconnection: close');

  it.each<readonly [what: string, first: Buffer, status: number]>([
    ['is too large', rawRequest(JSON_HEAD, bodyOf(2 * LIMIT)), 413],
    [
      'is too large unpacked',
      rawRequest(`${JSON_HEAD}\r\ncontent-encoding: zstd`, zstdCompressSync(bodyOf(2 * LIMIT))),
      413,
    ],
    ['is no gzip', rawRequest(`${JSON_HEAD}\r\ncontent-encoding: gzip`, Buffer.alloc(MEGABYTE, 'x')), 400],
    [
      'has an encoding that we do not know',
      rawRequest(`${JSON_HEAD}\r\ncontent-encoding: lzw`, Buffer.alloc(MEGABYTE)),
      415,
    ],
    [
      'is no gzip, and not JSON by its type',
      rawRequest('POST /v1/responses HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-encoding: gzip', garbage),
      415,
    ],
    ['belongs to a GET and is no gzip', rawRequest('GET /healthz HTTP/1.1\r\ncontent-encoding: gzip', garbage), 200],
    ['belongs to a GET that waits', rawRequest('GET /v1/models HTTP/1.1\r\ncontent-encoding: gzip', garbage), 200],
  ])('the connection of a body that is refused is there for the next request: it %s', async (_what, first, status) => {
    const answers = await exchange(service.port, Buffer.concat([first, last]));
    expect(answers.map((answer) => answer.status)).toEqual([status, 200]);
    await untilHeld(0);
  });
});

it('a body in chunks of one byte takes little more than its bytes', async () => {
  const body = bodyOf(MEGABYTE / 8);
  const head = 'POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json';
  const chunks = Array.from(body.subarray(0, -1), (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
  const socket = await openSocket(service.port);
  const before = (await takeStock()).heapBytes;
  socket.write(`${head}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
  await until(() => held() >= body.length - 32 * 1024);
  // Each chunk alone took about 300 bytes.
  expect((await takeStock()).heapBytes - before).toBeLessThan(16 * MEGABYTE);
  socket.destroy();
  await untilHeld(0);
});

it('a body that nobody reads, because the answer before its own is still to come, ends nothing', async () => {
  const long = rawRequest('POST /v1/responses HTTP/1.1\r\ncontent-type: application/json', bodyOf(LIMIT));
  const garbage = Buffer.from('no gzip at all');
  const unread = rawRequest(
    'POST /v1/responses HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-encoding: gzip',
    garbage,
  );
  const last = rawRequest('GET /healthz HTTP/1.1\r\nconnection: close');
  const answers = await exchange(service.port, Buffer.concat([long, unread, unread, last]));
  expect(answers.map(({ status }) => status)).toEqual([200, 415, 415, 200]);
});

it('two large bodies that fit are both read', async () => {
  const [first, second] = [send(bodyOf(LIMIT)), send(bodyOf(LIMIT - MEGABYTE))];
  await until(() => held() > 2 * LIMIT - 2 * MEGABYTE);
  first.finish();
  second.finish();
  const statuses = await Promise.all([first.answer, second.answer]);
  expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
});
