import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import { StoreUnavailableError } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { CALLS, outcomeOf } from '../../src/testing/state/contract-calls.js';
import { append, newTenant, recordOf, TTL_MS } from '../../src/testing/state/records.js';
import { SystemClock } from '../../src/time/index.js';
import { startCluster } from '../support/postgres/cluster.js';
import { createEmptyDatabase } from '../support/postgres/test-database.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { ready, testOutages } from './outages.js';
import { databaseOf, openPostgres, type OpenedPostgres, settingsFor } from './postgres-fixture.js';

describe('a backend whose PostgreSQL goes away', () => {
  const tenant = newTenant();
  const EVERYTHING = [
    ...CALLS,
    { name: 'check', call: ({ responses }: PostgresBackend) => responses.check() },
    { name: 'purge', call: ({ responses }: PostgresBackend) => responses.purge() },
    {
      name: 'claim',
      call: ({ claims }: PostgresBackend) => claims.claim(tenant, 'approval', 'a', Date.now() + TTL_MS),
    },
  ];
  let opened: OpenedPostgres;
  let proxy: TcpProxy;
  let throughProxy: Partial<DatabaseSettings>;
  let backend: PostgresBackend;

  /** Another backend, which waits so long, ms. */
  const open = (patienceMs: number): Promise<PostgresBackend> => {
    const timeouts = { DATABASE_CONNECT_TIMEOUT_MS: 2000, DATABASE_STATEMENT_TIMEOUT_MS: patienceMs };
    return opened.replica({ ...throughProxy, ...timeouts }, new SystemClock());
  };

  beforeAll(async () => {
    opened = await openPostgres();
    const url = new URL(opened.database.url);
    proxy = await TcpProxy.open(Number(url.port));
    url.port = String(proxy.port);
    throughProxy = { DATABASE_URL: url.href };
    backend = await opened.replica(throughProxy, new SystemClock());
  });
  afterAll(async () => {
    await proxy.close();
    await opened.close();
  });

  testOutages('PostgreSQL', () => ({ proxy, backend, open }), EVERYTHING, outcomeOf);

  it('a backend whose PostgreSQL goes away gives up on a statement that takes too long', async () => {
    const impatient = await open(2000);
    await ready(impatient);
    const client = new Client({ connectionString: opened.database.url });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE antiphon.responses');
    try {
      await expect(impatient.responses.get(tenant, 'a')).rejects.toBeInstanceOf(StoreUnavailableError);
      // The database gives up as well: nothing of it is left there.
      const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
      while ((await client.query(waiting)).rows.length > 0);
      await ready(impatient);
    } finally {
      await client.end();
    }
  });

  it('a backend whose PostgreSQL goes away serves at once when only an idle connection was cut', async () => {
    const single = await opened.replica({ DATABASE_POOL_SIZE: 1 });
    for (const id of ['a', 'b', 'c']) {
      await single.responses.check();
      await opened.database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database() AND query NOT LIKE 'LISTEN%'`,
      );
      await append(single.responses, tenant, `after-${id}`);
      expect(await single.responses.get(tenant, `after-${id}`)).toBeDefined();
    }
  });

  it.each([
    ['have lost their prepared statements', 'DEALLOCATE ALL'],
    [
      'prepared their statements before a column had another type',
      'ALTER TABLE antiphon.responses ALTER id TYPE varchar',
    ],
  ])('a backend whose PostgreSQL goes away serves at once when all connections %s', async (_, change) => {
    const other = await opened.replica({ DATABASE_POOL_SIZE: 3 });
    const use = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 9 }, (__, index) => other.responses.get(tenant, `of-${index}`)));
    await append(other.responses, tenant, `before ${change}`);
    await use();
    // One after another, each on a connection of its own: none is free before all have begun.
    const { library } = databaseOf(other);
    await Promise.all(Array.from({ length: 3 }, () => library(`BEGIN; ${change}; COMMIT`)));
    await use();
    expect(await other.responses.get(tenant, `before ${change}`)).toBeDefined();
    await append(other.responses, tenant, `after ${change}`);
    expect(await other.responses.get(tenant, `after ${change}`)).toBeDefined();
  });
});

describe('a backend whose PostgreSQL crashes', () => {
  it('a PostgreSQL that crashed has everything that it confirmed', async () => {
    await using cluster = await startCluster();
    const database = await createEmptyDatabase(cluster.url());
    const clock = new SystemClock();
    const backend = new PostgresBackend(settingsFor(database.url), clock);
    await backend.start();
    const tenant = newTenant();
    const confirmed: string[] = [];
    const expiresAt = clock.now() + TTL_MS;
    const enough = Promise.withResolvers<undefined>();
    const saveUntilItFails = async (line: number): Promise<unknown> => {
      for (let index = 0; ; index += 1) {
        const id = `r-${line}-${index}`;
        const parentId = index === 0 ? null : `r-${line}-${index - 1}`;
        try {
          await backend.responses.save(tenant, recordOf(id, { parentId, expiresAt }));
        } catch (error) {
          return error;
        }
        confirmed.push(id);
        if (confirmed.length === 200) enough.resolve(undefined);
      }
    };
    const lines = Promise.all(Array.from({ length: 8 }, (_, line) => saveUntilItFails(line)));
    await enough.promise;
    await cluster.crash();
    for (const failure of await lines) expect(failure).toBeInstanceOf(StoreUnavailableError);
    await cluster.resume();
    await ready(backend);
    const found = await Promise.all(confirmed.map((id) => backend.responses.chain(tenant, id)));
    for (const [index, chain] of found.entries()) {
      const position = Number(confirmed[index]?.split('-').at(-1));
      expect(chain?.items).toHaveLength(2 * (position + 1));
    }
    await backend.stop();
    await database.drop();
  });
});
