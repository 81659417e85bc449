import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';

import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { BodyBudget } from '../../src/bodies/index.js';
import { useService } from '../support/describe-service.js';
import { findErrorFault } from '../support/raw-checks.js';
import { sendUnfinished, type UnfinishedBody } from '../support/unfinished-body.js';

jest.setTimeout(120_000);

const MEGABYTE = 1024 * 1024;
const LIMIT = 8 * MEGABYTE;
const TOTAL = 32 * MEGABYTE;
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

function held(): number {
  return service.app.get(BodyBudget).bytes;
}

/** Waits for what happens in the service, until the test is over. */
async function until(condition: () => boolean): Promise<void> {
  const { currentTestName } = expect.getState();
  while (!condition()) {
    if (expect.getState().currentTestName !== currentTestName) throw new Error('the test is over');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

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

  it('share a budget: beyond it the largest are refused with 503, and small ones still pass', async () => {
    const before = memory();
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
      most = Math.max(most, memory());
      expect(held()).toBeLessThanOrEqual(TOTAL);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(most - before).toBeLessThan(TOTAL + MARGIN);
    const small = await ask();
    expect(small.status).toBe(200);
    expect(await small.json()).toMatchObject({ status: 'completed' });
  });

  it('hold nothing once their clients have left', async () => {
    const bodies = [send(bomb, headers), send(bomb, headers)];
    await until(() => held() >= LIMIT);
    for (const body of bodies) body.vanish();
    await untilHeld(0);
  });

  it('hold nothing once they are read', async () => {
    const body = send(compress(bodyOf(LIMIT)), headers);
    body.finish();
    expect(await body.answer).toMatchObject({ status: 200 });
    expect(held()).toBe(0);
  });
});

describe('a body that is refused holds nothing', () => {
  it('when it grows beyond BODY_LIMIT_BYTES, while the client still sends', async () => {
    const body = send(zstdCompressSync(bodyOf(LIMIT + MEGABYTE)), { 'content-encoding': 'zstd' });
    expect(await body.answer).toMatchObject({ status: 413 });
    await untilHeld(0);
  });

  it('when it is not what it says', async () => {
    const body = send(Buffer.from('{"model":"gpt-4.1","input":"Hi"}'), { 'content-encoding': 'gzip' });
    expect(await body.answer).toMatchObject({ status: 400 });
    expect(held()).toBe(0);
  });

  it('when it is not JSON by its type', async () => {
    const body = send(gzipSync(bodyOf(LIMIT)), { 'content-encoding': 'gzip', 'content-type': 'text/plain' });
    expect(await body.answer).toMatchObject({ status: 415 });
    await untilHeld(0);
  });

  it('when it asks for more memory than its content needs', async () => {
    const window = { params: { [constants.ZSTD_c_windowLog]: 27 } };
    const packed = await buffer(Readable.from([bodyOf(1000)]).pipe(createZstdCompress(window)));
    const body = send(packed, { 'content-encoding': 'zstd' });
    body.finish();
    expect(await body.answer).toMatchObject({ status: 400 });
  });
});

it('two large bodies that fit are both read', async () => {
  const [first, second] = [send(bodyOf(LIMIT)), send(bodyOf(LIMIT - MEGABYTE))];
  await until(() => held() > 2 * LIMIT - 2 * MEGABYTE);
  first.finish();
  second.finish();
  const statuses = await Promise.all([first.answer, second.answer]);
  expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
});

function memory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
