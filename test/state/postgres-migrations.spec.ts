import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { runner } from 'node-pg-migrate';

import { StateStartError } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { migrate, pendingMigrations, PostgresBackend } from '../../src/state/postgres/index.js';
import { FakeClock } from '../../src/testing/index.js';
import {
  append,
  contextFrom,
  contextOf,
  lineOf,
  message,
  newTenant,
  recordOf,
  START,
} from '../../src/testing/state/records.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { grantService, insertResponses, settingsFor } from './postgres-fixture.js';

/** The schema of the job queue, as a migration. */
const JOBS = expect.stringMatching(/^antiphon_jobs_\d+$/);
const DIRECTORY = fileURLToPath(new URL('../../src/state/postgres/migrations', import.meta.url));

describe('migrations of PostgreSQL', () => {
  let names: readonly string[];
  let database: TestDatabase;
  let backends: PostgresBackend[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    names = (await readdir(DIRECTORY)).map((file) => file.replace(/\.sql$/, '')).sort();
    database = await createEmptyDatabase();
    backends = [];
  });
  afterEach(async () => {
    await Promise.all(backends.map((backend) => backend.stop()));
    await database.drop();
  });

  const backendFor = (overrides: Partial<DatabaseSettings> = {}): PostgresBackend => {
    const backend = new PostgresBackend(settingsFor(database.url, overrides), new FakeClock());
    backends.push(backend);
    return backend;
  };
  const applied = async (): Promise<readonly unknown[]> =>
    (await database.query('SELECT name FROM antiphon.migrations ORDER BY id')).map(({ name }) => name);
  const useIt = async ({ responses: store, sessions, locks, claims }: PostgresBackend): Promise<void> => {
    const tenant = newTenant();
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    expect(await sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' })).toEqual({ responses: 2 });
    const lease = await locks.tryAcquire(tenant, 'a', 60_000);
    expect(await lease?.renew()).toBe(true);
    await lease?.release();
    expect(await claims.claim(tenant, 'approval', 'a', START + 1)).toBe('a');
    expect(await claims.claim(tenant, 'approval', 'b', START + 1)).toBe('a');
    expect(await store.delete(tenant, 'a', { cascade: true })).toBe(2);
    expect(await store.purge()).toBe(false);
  };

  it('migrations are all applied to an empty database, once', async () => {
    expect(await pendingMigrations(settingsFor(database.url))).toEqual([...names, JOBS]);
    expect(await migrate(settingsFor(database.url))).toEqual([...names, JOBS]);
    expect(await migrate(settingsFor(database.url))).toEqual([]);
    expect(await pendingMigrations(settingsFor(database.url))).toEqual([]);
    expect(await applied()).toEqual(names);
  });

  it('migrations are applied once when ten replicas start at once', async () => {
    const replicas = Array.from({ length: 10 }, () => backendFor({ DATABASE_POOL_SIZE: 2 }));
    await Promise.all(replicas.map((backend) => backend.start()));
    expect(await applied()).toEqual(names);
    for (const backend of replicas) await useIt(backend);
  });

  it('migrations bring the previous schema up to date, and keep what is in it', async () => {
    await runner({
      databaseUrl: database.url,
      dir: DIRECTORY,
      direction: 'up',
      count: names.length - 1,
      migrationsTable: 'migrations',
      migrationsSchema: 'antiphon',
      createMigrationsSchema: true,
      log: () => undefined,
    });
    const tenant = newTenant();
    await insertResponses(database, tenant, lineOf(5));
    await database.query(`INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
      SELECT owner, id, position, kind, id || position, json_build_object('type', 'message', 'id', id || '-' || kind)
      FROM antiphon.responses, unnest('{inherited,input,output}'::text[]) WITH ORDINALITY AS old (kind, position)
      WHERE id IN ('r0', 'r4')`);
    expect(await pendingMigrations(settingsFor(database.url))).toEqual([...names.slice(-1), JOBS]);
    const backend = backendFor();
    await backend.start();
    expect(await applied()).toEqual(names);
    expect(await contextOf(backend.responses, tenant, 'r4')).toEqual([
      ...['r0-inherited', 'r0-input', 'r0-output'],
      ...['r4-inherited', 'r4-input', 'r4-output'],
    ]);
    const given = [{ after: 0, items: [message('given')] }];
    await backend.responses.save(tenant, recordOf('r5', { parentId: 'r4', sessionId: 'r0', given }));
    expect((await contextOf(backend.responses, tenant, 'r5'))?.slice(6)).toEqual(['r5-in', 'given', 'r5-out']);
    expect(await backend.sessions.hasAtLeast(tenant, 'r0', 5)).toBe(true);
    await useIt(backend);
  });

  it('migrations are applied all or not at all', async () => {
    // The last table is there already, so that the migration that makes it fails.
    await database.query('CREATE SCHEMA antiphon');
    await database.query('CREATE TABLE antiphon.session_locks (note text)');
    await expect(migrate(settingsFor(database.url))).rejects.toThrow(/migration \d{4}_session-locks: .*already exists/);
    const tables = await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'antiphon'");
    expect(tables.map(({ tablename }) => tablename)).not.toContain('responses');
    await database.query('DROP TABLE antiphon.session_locks');
    expect(await migrate(settingsFor(database.url))).toEqual([...names, JOBS]);
  });

  it('migrations are not applied where that is not wanted', async () => {
    await expect(backendFor({ DATABASE_MIGRATE: false }).start()).rejects.toBeInstanceOf(StateStartError);
    await migrate(settingsFor(database.url));
    const backend = backendFor({ DATABASE_MIGRATE: false });
    await backend.start();
    await useIt(backend);
  });

  it('migrations leave a newer schema alone', async () => {
    await migrate(settingsFor(database.url));
    await database.query("INSERT INTO antiphon.migrations (name, run_on) VALUES ('9999_of-the-future', now())");
    await database.query('ALTER TABLE antiphon.responses ADD COLUMN of_the_future text');
    for (const DATABASE_MIGRATE of [true, false]) {
      const backend = backendFor({ DATABASE_MIGRATE });
      await backend.start();
      await useIt(backend);
    }
    expect(await applied()).toEqual([...names, '9999_of-the-future']);
  });

  it.each([true, false])(
    'migrations need no right to change the schema when it is up to date (%p)',
    async (migrates) => {
      await migrate(settingsFor(database.url));
      const role = `role_${randomUUID().replaceAll('-', '')}`;
      await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
      await grantService(database, role);
      const url = new URL(database.url);
      [url.username, url.password] = [role, 'secret'];
      const backend = backendFor({ DATABASE_URL: url.href, DATABASE_MIGRATE: migrates });
      try {
        await backend.start();
        await useIt(backend);
      } finally {
        await backends.pop()?.stop();
        await database.query(`DROP OWNED BY ${role}`);
        await database.query(`DROP ROLE ${role}`);
      }
    },
  );
});
