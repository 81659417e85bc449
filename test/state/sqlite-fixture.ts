import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { Logger } from '@nestjs/common';

import { Environment } from '../../src/config/index.js';
import type { DatabaseThread } from '../../src/state/sqlite/database-thread.js';
import { SqliteBackend } from '../../src/state/sqlite/index.js';
import { closeDatabase, FILE_NAME, openDatabase } from '../../src/state/sqlite/open-database.js';
import { toStoredJob, withId } from '../../src/state/sqlite/jobs.js';
import { FakeClock } from '../../src/testing/index.js';
import { LEASE_MS } from '../../src/testing/state/records.js';
import type { OpenedBackend } from './backends.js';

/** What SQLite says of a file that is no whole database. */
const SQLITE_CORRUPT = 11;

/** A started backend over a file of its own. */
export interface OpenedSqlite extends OpenedBackend {
  readonly backend: SqliteBackend;
  /** Where its file is. */
  readonly directory: string;
}

/** A backend over a directory; `maxPages`: the longest that its file may become. */
export function sqliteIn(directory: string, clock = new FakeClock(), maxPages?: number): SqliteBackend {
  const backend = new SqliteBackend(Object.assign(new Environment(), { STATE_DIR: directory }), clock);
  if (maxPages !== undefined) Object.assign(threadOf(backend), { options: { directory, maxPages } });
  return backend;
}

/** The private part that only a test wants. */
export function threadOf(backend: SqliteBackend): DatabaseThread {
  return (backend as unknown as { readonly thread: DatabaseThread }).thread;
}

/** The file of an empty database: to copy it takes a tenth of what its schema takes to be made. */
let empty: Promise<Buffer> | undefined;

async function readEmpty(): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-empty-'));
  try {
    closeDatabase(openDatabase({ directory }));
    return await readFile(join(directory, FILE_NAME));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Starts a backend over an empty file, which goes when it is disposed; `usesExtension`: whether sqlite-vec is used. */
export async function openSqlite(maxPages?: number, usesExtension?: boolean): Promise<OpenedSqlite> {
  Logger.overrideLogger(false);
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
  await writeFile(join(directory, FILE_NAME), await (empty ??= readEmpty()), { mode: 0o600 });
  const clock = new FakeClock();
  const backend = sqliteIn(directory, clock, maxPages);
  if (usesExtension !== undefined) Object.assign(threadOf(backend), { options: { directory, usesExtension } });
  await backend.start();
  // Nobody but a test wants to know.
  const { thread } = backend as unknown as { readonly thread: DatabaseThread };
  const close = async (): Promise<void> => {
    await backend.stop();
    await rm(directory, { recursive: true });
  };
  return {
    backend,
    clock,
    directory,
    saveMany: async (tenant, records) => {
      await Promise.all(records.map(async (record) => backend.responses.save(tenant, record)));
    },
    content: async () => contentOf(directory),
    expireLeases: async () => clock.advance(LEASE_MS),
    enqueue: async (...jobs) => {
      const kept = jobs.map(withId);
      await thread.call('jobs.add', kept.map(toStoredJob));
      backend.jobs.add(kept);
    },
    // The queue is told in microtasks.
    untilHeld: () => new Promise(setImmediate),
    ageJobs: async (seconds) => clock.advance(seconds * 1000),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The rows of responses and their items, read from a copy: nobody else may open the file itself. */
async function contentOf(directory: string): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-copy-'));
  try {
    await cp(directory, copy, { recursive: true });
    const database = new DatabaseSync(join(copy, FILE_NAME));
    // As in PostgreSQL, memberships of sessions are not counted.
    const tables = ['responses', 'item_places', 'runs', 'event_log', 'conversations', 'conversation_items'];
    const counts = tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ');
    const rows = database.prepare(`SELECT ${counts} AS total`).get()?.['total'];
    database.close();
    return Number(rows);
  } catch (error) {
    // It was written while it was copied: the copy is no whole database.
    if ((error as { readonly errcode?: number }).errcode !== SQLITE_CORRUPT) throw error;
  } finally {
    await rm(copy, { recursive: true });
  }
  return contentOf(directory);
}
