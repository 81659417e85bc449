import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { StoreUnavailableError } from '../../src/state/index.js';
import type { SqliteBackend } from '../../src/state/sqlite/index.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import {
  append,
  contextFrom,
  contextOf,
  message,
  newTenant,
  purge,
  recordOf,
  START,
  TTL_MS,
} from '../../src/testing/state/records.js';
import { type OpenedSqlite, openSqlite, sqliteIn, threadOf } from './sqlite-fixture.js';

/** Sizes in the file of the WAL, bytes: https://www.sqlite.org/fileformat2.html#walformat. */
const WAL = { header: 32, frameHeader: 24, page: 4096 } as const;

describe('a state in SQLite', () => {
  let opened: OpenedSqlite;
  let backend: SqliteBackend;
  let tenant: Tenant;

  async function use(maxPages?: number): Promise<void> {
    opened = await openSqlite(maxPages);
    ({ backend } = opened);
  }

  beforeEach(() => {
    tenant = newTenant();
  });
  afterEach(() => opened.close());

  async function saveSome(): Promise<void> {
    await append(backend.responses, tenant, 'a', { metadata: { kind: 'first' } });
    await append(backend.responses, tenant, 'b', { parentId: 'a' });
    await append(backend.responses, tenant, 'deleted', { parentId: 'a' });
    await backend.responses.delete(tenant, 'deleted', { cascade: false });
    await backend.sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' });
    await backend.secrets.getOrCreate('key', 'made once');
  }

  async function expectSome({ responses, graph, sessions, secrets }: SqliteBackend): Promise<void> {
    expect(await contextOf(responses, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    expect(await responses.get(tenant, 'deleted')).toBeUndefined();
    expect(await responses.items(tenant, ['b-out'])).toEqual(new Map([['b-out', message('b-out')]]));
    const first = await graph.list(tenant, { metadata: { kind: 'first' } }, { limit: 10, order: 'asc' });
    expect(first.data.map(({ id }) => id)).toEqual(['a']);
    const older = await graph.list(tenant, {}, { limit: 10, order: 'desc', after: 'deleted' });
    expect(older.data.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(await sessions.hasAtLeast(tenant, 'fork', 2)).toBe(true);
    expect(await secrets.getOrCreate('key', 'made again')).toBe('made once');
  }

  it('a state in SQLite is there after a restart', async () => {
    await use();
    await saveSome();
    await backend.stop();
    const restarted = sqliteIn(opened.directory, opened.clock);
    await restarted.start();
    await expectSome(restarted);
    await restarted.stop();
  });

  it('a state in SQLite is there after a crash, with everything that was acknowledged', async () => {
    await use();
    await saveSome();
    // What a process leaves that is killed now.
    const left = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    await cp(opened.directory, left, { recursive: true });
    const restarted = sqliteIn(left, opened.clock);
    await restarted.start();
    await expectSome(restarted);
    await restarted.stop();
    await rm(left, { recursive: true });
  });

  it('a state in SQLite saves in one transaction what arrives together', async () => {
    await use();
    await append(backend.responses, tenant, 'first');
    const before = await commits();
    const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
    await Promise.all(ids.map(async (id) => backend.responses.save(tenant, recordOf(id, { parentId: 'first' }))));
    expect((await commits()) - before).toBe(1);
    expect(await contextOf(backend.responses, tenant, 'r49')).toEqual(contextFrom('first', 'r49'));
  });

  it('a state in SQLite saves what it can when one of those that arrive together fails', async () => {
    await use();
    const broken = recordOf('broken', { createdAt: 1.5 });
    const results = await Promise.allSettled(
      [recordOf('one'), broken, recordOf('other')].map(async (record) => backend.responses.save(tenant, record)),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await contextOf(backend.responses, tenant, 'other')).toEqual(contextFrom('other'));
    expect(await backend.responses.get(tenant, 'broken')).toBeUndefined();
  });

  it('a state in SQLite executes what it was asked for before it stops', async () => {
    await use();
    const saving = backend.responses.save(tenant, recordOf('last'));
    await backend.stop();
    await saving;
    const restarted = sqliteIn(opened.directory, opened.clock);
    await restarted.start();
    expect(await contextOf(restarted.responses, tenant, 'last')).toEqual(contextFrom('last'));
    await restarted.stop();
  });

  it('a state in SQLite refuses saves on a full disk, keeps what it has, and goes on when there is room', async () => {
    await use(120);
    const { responses } = backend;
    const large = [message('large', 'x'.repeat(20_000))];
    const saved: string[] = [];
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 100; index += 1) {
        await responses.save(tenant, recordOf(`r${index}`, { output: large }));
        saved.push(`r${index}`);
      }
    };
    await expect(fill()).rejects.toThrow(StoreUnavailableError);
    expect(saved.length).toBeGreaterThan(1);
    for (const id of saved) expect(await contextOf(responses, tenant, id)).toEqual([`${id}-in`, 'large']);
    opened.clock.advance(TTL_MS);
    await purge(responses);
    await responses.expectSave();
    await responses.check();
    await responses.save(tenant, recordOf('later', { output: large, expiresAt: START + 2 * TTL_MS }));
    expect(await contextOf(responses, tenant, 'later')).toEqual(['later-in', 'large']);
  });

  it('a state in SQLite acknowledges what it has stored when its reserve cannot be made', async () => {
    await use();
    await mkdir(join(opened.directory, `${FILE_NAME}-reserve`));
    // More than the transactions after which the reserve is made.
    const ids = Array.from({ length: 120 }, (_, index) => `r${index}`);
    for (const id of ids) await backend.responses.save(tenant, recordOf(id));
    expect((await backend.graph.list(tenant, {}, { limit: 200, order: 'asc' })).data).toHaveLength(ids.length);
  });

  it('a state in SQLite opens its file again when its thread has ended', async () => {
    await use();
    const { responses } = backend;
    await append(responses, tenant, 'a');
    const { worker } = threadOf(backend) as unknown as { readonly worker: Worker };
    const asked = responses.get(tenant, 'a');
    await Promise.all([expect(asked).rejects.toThrow(StoreUnavailableError), worker.terminate()]);
    await expect(responses.check()).rejects.toThrow(StoreUnavailableError);
    await expect(Promise.resolve(responses.expectSave())).rejects.toThrow(StoreUnavailableError);
    opened.clock.advance(10_000);
    await untilOpen();
    expect(await contextOf(responses, tenant, 'a')).toEqual(contextFrom('a'));
  });

  async function untilOpen(): Promise<void> {
    const isOpen = (): Promise<boolean> =>
      backend.responses.check().then(
        () => true,
        () => false,
      );
    while (!(await isOpen())) await setImmediate();
  }

  /** How many transactions are in the WAL: a frame that ends one says how long the file is from then on. */
  async function commits(): Promise<number> {
    const wal = await readFile(join(opened.directory, `${FILE_NAME}-wal`));
    let count = 0;
    for (let at = WAL.header; at < wal.length; at += WAL.frameHeader + WAL.page) {
      if (wal.readUInt32BE(at + 4) > 0) count += 1;
    }
    return count;
  }
});
