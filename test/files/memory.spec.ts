import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect, it } from '@jest/globals';

import { LibraryBackend } from '../../src/state/index.js';
import { MemoryFileStore } from '../../src/state/memory/files.js';
import { FakeClock } from '../../src/testing/index.js';
import { startService } from '../support/service.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MEGABYTE = 1024 * 1024;
const LENGTH = 64 * MEGABYTE;

const HEAD = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';
const TAIL = '\r\n--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b--\r\n';

/** Pieces between two measurements. */
const PIECES = 150;

it('a file is in memory by the piece, however long it is', async () => {
  // Equal pieces are stored once: what the store itself holds does not grow.
  const store = new MemoryFileStore(new FakeClock(), 10 * MEGABYTE);
  let [most, pieces] = [0, 0];
  const measure = (): void => {
    pieces += 1;
    if (pieces % PIECES !== 0) return;
    collectGarbage();
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  };
  const append = store.append.bind(store);
  store.append = async (...piece) => {
    measure();
    return append(...piece);
  };
  await using service = await startService({ overrides: [[LibraryBackend, { files: store }]] });
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const chunk = Buffer.alloc(MEGABYTE);
  function* form(): Generator<Buffer> {
    yield Buffer.from(HEAD);
    for (let sent = 0; sent < LENGTH; sent += chunk.length) yield chunk;
    yield Buffer.from(TAIL);
  }
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const upload = request(`${service.baseURL}/files`, { method: 'POST', headers });
  const answered = new Promise<Readable>((resolve) => upload.once('response', resolve));
  await pipeline(Readable.from(form(), { objectMode: true, highWaterMark: 1 }), upload);
  const answer = JSON.parse((await (await answered).toArray()).join('')) as { id: string; bytes: number };
  expect(answer).toMatchObject({ bytes: LENGTH });
  let read = 0;
  const { body } = await fetch(`${service.baseURL}/files/${answer.id}/content`);
  for await (const piece of body ?? []) {
    read += (piece as Uint8Array).length;
    measure();
  }
  expect(read).toBe(LENGTH);
  // What is on its way through sockets counts, and is not always small.
  expect(most - before).toBeLessThan(LENGTH / 2);
});
