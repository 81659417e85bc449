import { randomUUID } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { getRollbackPlans } from 'pg-boss';

import { StateStartError } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { migrate, pendingMigrations, PostgresBackend } from '../../src/state/postgres/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { Deliveries } from '../../src/testing/state/deliveries.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { enqueue, grantService, settingsFor } from './postgres-fixture.js';

describe('the schema of jobs in PostgreSQL', () => {
  let database: TestDatabase;
  let role: string;
  let backends: PostgresBackend[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    database = await createEmptyDatabase();
    role = `role_${randomUUID().replaceAll('-', '')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    backends = [];
  });
  afterEach(async () => {
    await Promise.all(backends.map((backend) => backend.stop()));
    await database.query(`DROP OWNED BY ${role} CASCADE`);
    await database.query(`DROP ROLE ${role}`);
    await database.drop();
  });

  const start = async (overrides: Partial<DatabaseSettings> = {}): Promise<PostgresBackend> => {
    const backend = new PostgresBackend(settingsFor(database.url, overrides), new FakeClock());
    backends.push(backend);
    await backend.start();
    return backend;
  };
  const asRole = (): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'secret'];
    return url.href;
  };
  const version = async (): Promise<unknown> =>
    (await database.query('SELECT version FROM antiphon_jobs.version'))[0]?.['version'];
  const runJob = async (backend: PostgresBackend): Promise<void> => {
    const worker = await Deliveries.of(backend.jobs);
    await enqueue(backend, { queue: 'turns', data: {} });
    expect(await worker.at(0)).toMatchObject({ data: {} });
    await worker.stop();
  };
  const drop = (): Promise<unknown> => database.query('DROP SCHEMA antiphon_jobs CASCADE');

  it('the schema of jobs is made at the start where it is missing', async () => {
    await migrate(settingsFor(database.url));
    await drop();
    await runJob(await start());
  });

  it('the schema of jobs is made once when replicas start at once', async () => {
    await migrate(settingsFor(database.url));
    await drop();
    const replicas = await Promise.all(Array.from({ length: 8 }, () => start({ DATABASE_POOL_SIZE: 2 })));
    for (const replica of replicas) await runJob(replica);
  });

  it('the schema of jobs is required where it may not be made', async () => {
    await migrate(settingsFor(database.url));
    await drop();
    const refused = start({ DATABASE_MIGRATE: false });
    await expect(refused).rejects.toBeInstanceOf(StateStartError);
    await expect(refused).rejects.toThrow("the database needs 1 migrations. Run 'npm run migrate'");
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'antiphon_jobs'")).toEqual([]);
  });

  it('the schema of jobs is brought up to date, and required to be so', async () => {
    await migrate(settingsFor(database.url));
    const newest = await version();
    await database.query(getRollbackPlans('antiphon_jobs'));
    expect(await version()).not.toBe(newest);
    await expect(start({ DATABASE_MIGRATE: false })).rejects.toThrow('npm run migrate');
    expect(await pendingMigrations(settingsFor(database.url))).toEqual([`antiphon_jobs_${String(newest)}`]);
    await runJob(await start());
    expect(await version()).toBe(newest);
  });

  it('the schema of jobs may be newer than the service', async () => {
    await migrate(settingsFor(database.url));
    await database.query('UPDATE antiphon_jobs.version SET version = version + 1');
    for (const DATABASE_MIGRATE of [true, false]) await runJob(await start({ DATABASE_MIGRATE }));
  });

  it.each([true, false])(
    'the schema of jobs needs no right to change it when it is up to date (%p)',
    async (migrates) => {
      await migrate(settingsFor(database.url));
      await grantService(database, role);
      await runJob(await start({ DATABASE_URL: asRole(), DATABASE_MIGRATE: migrates }));
    },
  );

  it('the schema of jobs is made in an empty schema that the role owns', async () => {
    for (const schema of ['antiphon', 'antiphon_jobs']) {
      await database.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`);
    }
    await runJob(await start({ DATABASE_URL: asRole() }));
  });

  it('the schema of jobs is named when the role may not use it', async () => {
    await migrate(settingsFor(database.url));
    await grantService(database, role);
    await database.query(`REVOKE ALL ON SCHEMA antiphon_jobs FROM ${role}`);
    await expect(start({ DATABASE_URL: asRole() })).rejects.toThrow(
      'DATABASE_URL: permission denied for schema antiphon_jobs',
    );
  });

  it('the start is refused when the role may not read the tables of jobs', async () => {
    await migrate(settingsFor(database.url));
    await grantService(database, role);
    await database.query(`REVOKE ALL ON antiphon_jobs.queue FROM ${role}`);
    const refused = start({ DATABASE_URL: asRole() });
    await expect(refused).rejects.toBeInstanceOf(StateStartError);
    await expect(refused).rejects.toThrow('DATABASE_URL: the role may not use antiphon_jobs.queue');
  });
});
