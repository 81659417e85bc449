import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { StateStartError, StoreUnavailableError } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { append, newTenant, recordOf } from '../../src/testing/state/records.js';
import { SystemClock } from '../../src/time/index.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { settingsFor } from './postgres-fixture.js';

describe('the start of a backend over PostgreSQL', () => {
  const clock = new SystemClock();
  let database: TestDatabase;
  let backends: PostgresBackend[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    database = await createEmptyDatabase();
    backends = [];
  });
  afterEach(async () => {
    await Promise.all(backends.map((backend) => backend.stop()));
    await database.drop();
  });

  const backendFor = (url: URL | string, overrides: Partial<DatabaseSettings> = {}): PostgresBackend => {
    const backend = new PostgresBackend(settingsFor(String(url), overrides), clock);
    backends.push(backend);
    return backend;
  };
  const edited = (edit: (url: URL) => void): URL => {
    const url = new URL(database.url);
    edit(url);
    return url;
  };
  const proxied = (proxy: TcpProxy): URL => edited((url) => void (url.port = String(proxy.port)));
  const openProxy = (): Promise<TcpProxy> => TcpProxy.open(Number(new URL(database.url).port));
  const untilReady = async (backend: PostgresBackend): Promise<void> => {
    while ((await backend.responses.check().catch((error: unknown) => error)) !== undefined) await clock.sleep(10);
  };

  it('the start over PostgreSQL makes an empty database ready', async () => {
    const backend = backendFor(database.url);
    await backend.start();
    await backend.responses.check();
    await backend.responses.save(newTenant(), recordOf('a'));
  });

  it('the start over PostgreSQL is refused with a wrong password', async () => {
    const backend = backendFor(edited((url) => void (url.password = 'wrong')));
    await expect(backend.start()).rejects.toThrow('password authentication failed');
  });

  it('the start over PostgreSQL is refused with a user that is not there', async () => {
    const backend = backendFor(edited((url) => void (url.username = 'nobody_at_all')));
    await expect(backend.start()).rejects.toThrow('password authentication failed');
  });

  it('the start over PostgreSQL is refused with a database that is not there', async () => {
    const backend = backendFor(edited((url) => void (url.pathname = '/nothing_of_the_kind')));
    await expect(backend.start()).rejects.toThrow('does not exist');
  });

  it('the start over PostgreSQL is refused when the schema is missing and may not be made', async () => {
    const backend = backendFor(database.url, { DATABASE_MIGRATE: false });
    const start = backend.start();
    await expect(start).rejects.toBeInstanceOf(StateStartError);
    await expect(start).rejects.toThrow('npm run migrate');
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'antiphon'")).toEqual([]);
  });

  it.each(['antiphon.files', 'antiphon_jobs.queue'])(
    'the start over PostgreSQL is refused with a database that lacks %s',
    async (table) => {
      await backendFor(database.url).start();
      await database.query(`ALTER TABLE ${table} RENAME TO other`);
      for (const DATABASE_MIGRATE of [true, false]) {
        const start = backendFor(database.url, { DATABASE_MIGRATE }).start();
        await expect(start).rejects.toThrow(new StateStartError(`DATABASE_URL: the database lacks ${table}`));
      }
    },
  );

  it.each([true, false])(
    'the start over PostgreSQL waits for a database that is away (DATABASE_MIGRATE=%p)',
    async (migrates) => {
      if (!migrates) await backendFor(database.url).start();
      await using proxy = await openProxy();
      await proxy.cut();
      const backend = backendFor(proxied(proxy), { DATABASE_MIGRATE: migrates });
      await backend.start();
      await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
      await expect(backend.responses.get(newTenant(), 'a')).rejects.toBeInstanceOf(StoreUnavailableError);
      await proxy.restore();
      await untilReady(backend);
      expect((await append(backend.responses, newTenant(), 'a')).response.id).toBe('a');
    },
  );

  it('the start over PostgreSQL waits for a database that is silent', async () => {
    await using proxy = await openProxy();
    proxy.stall();
    const backend = backendFor(proxied(proxy), { DATABASE_CONNECT_TIMEOUT_MS: 1000 });
    await backend.start();
    await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
    await proxy.restore();
    await untilReady(backend);
  });

  it('the start over PostgreSQL lets go of a database that stays away when it is stopped', async () => {
    await using proxy = await openProxy();
    await proxy.cut();
    const backend = backendFor(proxied(proxy));
    await backend.start();
    await backend.stop();
    backends.pop();
    await proxy.restore();
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'antiphon'")).toEqual([]);
    await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  it('the start over PostgreSQL leaves no connection behind after the end', async () => {
    const backend = backendFor(database.url);
    await backend.start();
    await Promise.all(Array.from({ length: 5 }, () => backend.responses.check()));
    await backend.stop();
    backends.pop();
    let open: readonly unknown[];
    do {
      open = await database.query(
        'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    } while (open.length > 0);
    expect(open).toEqual([]);
  });
});
