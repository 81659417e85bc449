import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';

import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { createEmptyDatabase } from '../support/postgres/test-database.js';
import { settingsFor } from './postgres-fixture.js';

/** A PostgreSQL that has pgvector, with a schema once a backend has started. */
export interface PgvectorServer extends AsyncDisposable {
  /** Starts a backend over it, which is stopped with it. */
  start(mode: DatabaseSettings['POSTGRES_VECTORS']): Promise<PostgresBackend>;
  query(sql: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly clock: FakeClock;
}

/** Starts one: PGlite, or a database on the server that PGVECTOR_URL names. */
export async function openPgvector(): Promise<PgvectorServer> {
  Logger.overrideLogger(false);
  const { url, close } = await openServer();
  const clock = new FakeClock();
  const backends: PostgresBackend[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(backends.splice(0).map((backend) => backend.stop()));
  };
  return {
    clock,
    start: async (mode) => {
      // One process at a time: PGlite has one session, in which names of statements and settings would meet.
      await stop();
      const settings = settingsFor(url, { DATABASE_DIRECT_URL: url, POSTGRES_VECTORS: mode });
      const backend = new PostgresBackend(settings, clock);
      await backend.start();
      backends.push(backend);
      return backend;
    },
    query: async (sql, values) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(sql, values && [...values])).rows;
      } finally {
        await client.end();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      await close();
    },
  };
}

async function openServer(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const serverUrl = process.env['PGVECTOR_URL'];
  if (serverUrl !== undefined) {
    const database = await createEmptyDatabase(serverUrl);
    return { url: database.url, close: () => database.drop() };
  }
  const db = await PGlite.create({ extensions: { vector }, loadDataDir: await readEmpty() });
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 50 });
  await server.start();
  const close = async (): Promise<void> => {
    await server.stop();
    await db.close();
  };
  return { url: `postgres://postgres:postgres@${server.getServerConn()}/postgres`, close };
}

/** The data of an empty PGlite, which takes two CPU seconds to make and a tenth of that to load. One is kept for each version. */
async function readEmpty(): Promise<Blob> {
  const manifest = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'));
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly version: string };
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const path = resolve(root, process.env['ANTIPHON_CACHE'] ?? '.cache', 'tests', `pglite-${version}.tar`);
  try {
    return new Blob([await readFile(path)]);
  } catch {
    await using db = await PGlite.create({ extensions: { vector } });
    const data = await db.dumpDataDir('none');
    // Another worker may read it meanwhile.
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.${process.pid}`, await data.bytes());
    await rename(`${path}.${process.pid}`, path);
    return data;
  }
}
