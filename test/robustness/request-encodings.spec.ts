import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { useService } from '../support/describe-service.js';
import { editedBody } from '../support/raw-bodies.js';
import { findErrorFault, findFault } from '../support/raw-checks.js';
import { type RawAnswer, RawClient } from '../support/raw-client.js';
import { watchMemory } from '../support/raw-heap.js';
import { SocketClient } from '../support/socket-client.js';

const SEED = 20_261_122;
const MEGABYTE = 1024 * 1024;
const BOMB_MEGABYTES = 128;
/** Half of a bomb, and more than the garbage of a limit that is kept. */
const MOST_MEMORY_GROWTH = 64 * MEGABYTE;
const GOOD = '{"model":"gpt-4.1","input":"Hi"}';

const brotliQuickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const CODINGS = [
  ['gzip', gzipSync, () => createGzip()],
  ['deflate', deflateSync, () => createDeflate()],
  ['br', (body: Buffer) => brotliCompressSync(body, brotliQuickly), () => createBrotliCompress(brotliQuickly)],
  ['zstd', zstdCompressSync, () => createZstdCompress()],
] as const;
let client: RawClient;

// Before it closes.
afterAll(() => client.close());
const service = useService({ environment: { BODY_LIMIT_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: 100 } });

beforeAll(() => {
  client = new RawClient(service.port);
});

function expectRefusal(answer: RawAnswer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(findErrorFault(answer.text)).toBeUndefined();
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code } });
}

describe.each(CODINGS)('a body in %s', (coding, compress, createStream) => {
  const headers = { 'content-encoding': coding };

  it('a compressed body is read', async () => {
    const answer = await client.post(compress(Buffer.from(GOOD)), headers);
    expect(answer.status).toBe(200);
  });

  it('a compressed body is read whatever the case of the name of its coding', async () => {
    const answer = await client.post(compress(Buffer.from(GOOD)), { 'content-encoding': coding.toUpperCase() });
    expect(answer.status).toBe(200);
  });

  it.each([
    ['cut', compress(Buffer.from(GOOD)).subarray(0, -9)],
    ['something else', Buffer.from(GOOD)],
    ['changed', Buffer.concat([compress(Buffer.from(GOOD)).subarray(0, 12), Buffer.from('something else entirely')])],
  ])('a compressed body is refused when it is %s, and the client is told so', async (_name, body) => {
    const answer = await client.post(body, headers);
    expectRefusal(answer, 400, 'invalid_value');
    expect(answer.text).toContain(`not valid ${coding}`);
  });

  it('a compressed body that is empty is refused', async () => {
    const fault = findFault(await client.post('', headers));
    expect(fault).toBeUndefined();
  });

  it(`a compressed body is refused when ${BOMB_MEGABYTES} MB come out of it, before they do`, async () => {
    const zeros = Buffer.alloc(MEGABYTE);
    const bomb = await buffer(Readable.from(Array.from({ length: BOMB_MEGABYTES }, () => zeros)).pipe(createStream()));
    expect(bomb.length).toBeLessThan(MEGABYTE);
    const growth = watchMemory(MOST_MEMORY_GROWTH);
    const watch = { isOver: false, most: 0 };
    const answering = client.post(bomb, headers).finally(() => (watch.isOver = true));
    while (!watch.isOver) {
      watch.most = Math.max(watch.most, growth());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expectRefusal(await answering, 413, 'request_too_large');
    expect(watch.most).toBeLessThan(MOST_MEMORY_GROWTH);
  });

  it(`a compressed body is refused or answered, whatever is in it (seed ${SEED})`, async () => {
    const damaged = fc.tuple(editedBody, fc.nat(), fc.constantFrom('none', 'cut', 'flip', 'twice', 'relabel'));
    const property = fc.asyncProperty(damaged, async ([text, at, damage]) => {
      const body = compress(Buffer.from(text));
      const position = at % body.length;
      if (damage === 'flip') body[position] = (body[position] ?? 0) ^ (1 << (at % 8));
      const sent = damage === 'cut' ? body.subarray(0, position) : damage === 'twice' ? compress(body) : body;
      const label = CODINGS[at % CODINGS.length]?.[0] ?? coding;
      const fault = findFault(await client.post(sent, damage === 'relabel' ? { 'content-encoding': label } : headers));
      if (fault !== undefined) throw new Error(fault);
    });
    await fc.assert(property, { seed: SEED, numRuns: 400 });
  });
});

describe('an encoding', () => {
  it.each(['compress', 'x', '__proto__', 'constructor', 'gzip, br', 'gzip;q=1', ','])(
    'an encoding that we do not know is refused: %p',
    async (encoding) => {
      const answer = await client.post(GOOD, { 'content-encoding': encoding });
      expectRefusal(answer, 415, 'unsupported_content_encoding');
    },
  );

  it('the encoding identity is no encoding', async () => {
    const answer = await client.post(GOOD, { 'content-encoding': 'identity' });
    expect(answer.status).toBe(200);
  });
});

it('a byte order mark before JSON is left out, over HTTP and in frames', async () => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  expect((await client.post(Buffer.concat([mark, Buffer.from(GOOD)]))).status).toBe(200);
  await using socket = await SocketClient.open(service);
  const frame = JSON.stringify({ type: 'response.create', ...(JSON.parse(GOOD) as object) });
  socket.send(`\ufeff${frame}`);
  expect((await socket.finish()).response.status).toBe('completed');
  expect(await client.post(Buffer.concat([mark, mark, Buffer.from(GOOD)]))).toMatchObject({ status: 400 });
});

describe('a content type', () => {
  it.each(['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json;charset='])(
    'a content type of JSON is read: %s',
    async (type) => {
      const answer = await client.post(GOOD, { 'content-type': type });
      expect(answer.status).toBe(200);
    },
  );

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json/x',
    'application/json, application/json',
    'application',
    '*/*',
    ';',
    '__proto__',
    '',
  ])('a content type of anything else is refused: %s', async (type) => {
    expectRefusal(await client.post(GOOD, { 'content-type': type }), 415, 'unsupported_media_type');
  });
});

describe('a body above BODY_LIMIT_BYTES', () => {
  it('a body just as large as BODY_LIMIT_BYTES is not above it', async () => {
    const body = `{"model":"gpt-4.1","input":"Hi","max_output_tokens":16}`.padEnd(MEGABYTE);
    expect((await client.post(body)).status).toBe(200);
    expectRefusal(await client.post(`${body} `), 413, 'request_too_large');
  });
});
