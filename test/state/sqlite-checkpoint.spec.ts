import { cp, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import { append, contextFrom, contextOf, message, newTenant } from '../../src/testing/state/records.js';
import { sqliteIn } from './sqlite-fixture.js';

const PAGE_BYTES = 4096;

/** A write of a checkpoint: a page, or what a full disk took of it. */
interface Write {
  readonly at: number;
  readonly bytes: Buffer;
}

describe('a state in SQLite whose process is killed in a checkpoint', () => {
  const ids = Array.from({ length: 3 }, (_, index) => `r${index}`);
  let tenant: Tenant;
  /** What the process had on the disk when the checkpoint began. */
  let left: string;
  let writes: readonly Write[];

  beforeAll(async () => {
    tenant = newTenant();
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    // The schema is in the file before: to write it again and again would show no more.
    const first = sqliteIn(directory);
    await first.start();
    await first.stop();
    const backend = sqliteIn(directory);
    await backend.start();
    const { responses } = backend;
    // It grows the file, and changes pages that were there before.
    for (const id of ids) await append(responses, tenant, id, { output: [message(`${id}-out`, 'x'.repeat(10_000))] });
    left = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    await cp(directory, left, { recursive: true });
    writes = writesOf(await readFile(join(left, `${FILE_NAME}-wal`)));
    await backend.stop();
    await rm(directory, { recursive: true });
  });
  afterAll(() => rm(left, { recursive: true }));

  /** The files as they are once so many bytes were written. */
  async function cutAfter(bytes: number): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    await cp(left, directory, { recursive: true });
    const file = await open(join(directory, FILE_NAME), 'r+');
    let room = bytes;
    for (const write of writes) {
      const length = Math.min(room, PAGE_BYTES);
      if (length === 0) break;
      await file.write(write.bytes, 0, length, write.at);
      room -= length;
    }
    await file.close();
    return directory;
  }

  it('a process that is killed in a checkpoint has written what SQLite writes', async () => {
    const directory = await cutAfter(Infinity);
    const written = await readFile(join(directory, FILE_NAME));
    const database = new DatabaseSync(join(directory, FILE_NAME));
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    expect(written.equals(await readFile(join(directory, FILE_NAME)))).toBe(true);
    expect(writes.length).toBeGreaterThan(ids.length * 2);
    await rm(directory, { recursive: true });
  });

  it('a file whose process is killed in a checkpoint has everything that was acknowledged, whichever write was the last, whole or in part', async () => {
    for (let count = 0; count <= writes.length; count += 1) {
      const directory = await cutAfter((count - (count % 2) / 2) * PAGE_BYTES);
      const backend = sqliteIn(directory);
      await backend.start();
      for (const id of ids) expect(await contextOf(backend.responses, tenant, id)).toEqual(contextFrom(id));
      await append(backend.responses, tenant, 'later');
      await backend.stop();
      await rm(directory, { recursive: true });
    }
  });
});

/** What a checkpoint writes, in its order: https://www.sqlite.org/fileformat2.html#walformat. */
function writesOf(log: Buffer): readonly Write[] {
  const salts = log.subarray(16, 24);
  const committed = new Map<number, Buffer>();
  let transaction = new Map<number, Buffer>();
  for (let at = 32; at < log.length && log.subarray(at + 8, at + 16).equals(salts); at += 24 + PAGE_BYTES) {
    transaction.set(log.readUInt32BE(at), log.subarray(at + 24, at + 24 + PAGE_BYTES));
    if (log.readUInt32BE(at + 4) === 0) continue;
    for (const [page, bytes] of transaction) committed.set(page, bytes);
    transaction = new Map();
  }
  return [...committed]
    .sort(([page], [other]) => page - other)
    .map(([page, bytes]) => ({ at: (page - 1) * PAGE_BYTES, bytes }));
}
