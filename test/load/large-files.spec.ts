import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { describe, expect, it } from '@jest/globals';

import { LibraryBackend } from '../../src/state/index.js';
import { FakeS3 } from '../support/s3/fake-s3.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';

const MEGABYTE = 1024 * 1024;

/** Of each of two files that are sent at once: FILES_LOAD_MEGABYTES=512 sends a gigabyte, which takes minutes. */
const LENGTH = Number(process.env['FILES_LOAD_MEGABYTES'] ?? 16) * MEGABYTE;

/** What the buffers of the kernel and of streams hold of one file on the way, and a few pieces. */
const MOST_ON_THE_WAY = 12 * MEGABYTE;

const HEAD = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';
const TAIL = '\r\n--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b--\r\n';

/** Where files are, and the bucket beside it. */
const PLACES = EVERY_STATE.flatMap(({ state, open }) => {
  if (state !== 'sqlite' && state !== 'postgres') return [];
  const alone = { name: `STATE=${state}`, open, startBucket: () => Promise.resolve(null) };
  const withBucket = { name: `STATE=${state} and a bucket`, open, startBucket: () => FakeS3.start() };
  // The database has no part in what is on its way to a bucket.
  return state === 'sqlite' ? [alone, withBucket] : [alone];
});

describe.each(PLACES)('large files with $name', ({ open, startBucket }) => {
  it('large files are never on their way with more than a bounded number of bytes, to where they are kept and back', async () => {
    await using bucket = await startBucket();
    const environment = { REQUEST_TIMEOUT_MS: 3_600_000, ...bucket?.environment };
    await using service = await startServiceIn(open, { environment });
    const { files } = service.app.get(LibraryBackend, { strict: false });
    if (files === undefined) throw new Error('the backend has no FileStore');
    let [left, arrived, most] = [0, 0, 0];
    const leave = (bytes: number): void => {
      left += bytes;
      most = Math.max(most, left - arrived);
    };
    const append = files.append.bind(files);
    files.append = async (...piece) => {
      await append(...piece);
      arrived += piece[2].bytes.length;
    };
    const chunk = randomBytes(MEGABYTE);
    let chunks = 0;
    function* form(): Generator<Buffer> {
      yield Buffer.from(HEAD);
      for (let sent = 0; sent < LENGTH; sent += chunk.length) {
        // No piece is like another.
        const next = Buffer.from(chunk);
        for (let place = 0; place < next.length; place += 4096) next.writeUInt32LE(chunks, place);
        chunks += 1;
        leave(next.length);
        yield next;
      }
      yield Buffer.from(TAIL);
    }
    const send = async (): Promise<{ readonly id: string; readonly bytes: number }> => {
      const headers = { 'content-type': 'multipart/form-data; boundary=b', authorization: 'Bearer test' };
      const upload = request(`${service.baseURL}/files`, { method: 'POST', headers });
      const answered = new Promise<Readable>((resolve) => upload.once('response', resolve));
      await pipeline(Readable.from(form(), { objectMode: true, highWaterMark: 1 }), upload);
      return JSON.parse((await (await answered).toArray()).join('')) as never;
    };
    const [first, second] = await Promise.all([send(), send()]);
    expect([first.bytes, second.bytes, arrived]).toEqual([LENGTH, LENGTH, 2 * LENGTH]);
    expect(most).toBeLessThan(2 * MOST_ON_THE_WAY);

    [left, arrived, most] = [0, 0, 0];
    const piece = files.piece.bind(files);
    files.piece = async (...place) => {
      const read = await piece(...place);
      leave(read?.length ?? 0);
      return read;
    };
    bucket?.onSent(leave);
    const { body } = await fetch(`${service.baseURL}/files/${first.id}/content`);
    for await (const part of body ?? []) arrived += (part as Uint8Array).length;
    expect(arrived).toBe(LENGTH);
    expect(most).toBeLessThan(MOST_ON_THE_WAY);
  });
});
