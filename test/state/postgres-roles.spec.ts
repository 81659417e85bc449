import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { StoreUnavailableError } from '../../src/state/index.js';
import type { PostgresBackend } from '../../src/state/postgres/index.js';
import { append, newTenant, TTL_MS } from '../../src/testing/state/records.js';
import { SystemClock } from '../../src/time/index.js';
import { grantService, openPostgres, type OpenedPostgres } from './postgres-fixture.js';

const ROLE = `role_${process.pid}`;

describe('a role of PostgreSQL', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;
  let backend: PostgresBackend;

  const disconnect = (): Promise<unknown> =>
    opened.database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [ROLE]);

  beforeAll(async () => {
    opened = await openPostgres();
    await opened.database.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'secret' CONNECTION LIMIT 3`);
    await grantService(opened.database, ROLE);
    const url = new URL(opened.database.url);
    Object.assign(url, { username: ROLE, password: 'secret' });
    backend = await opened.replica({ DATABASE_URL: url.href, DATABASE_MIGRATE: false }, new SystemClock());
    await append(backend.responses, tenant, 'a', { expiresAt: Date.now() + TTL_MS });
  });
  afterAll(async () => {
    await opened.close();
  });

  it('a role may have fewer connections than the pool wants: requests wait for those that are there', async () => {
    const found = await Promise.all(Array.from({ length: 60 }, () => backend.responses.get(tenant, 'a')));
    expect(found.map((response) => response?.id)).toEqual(Array<string>(60).fill('a'));
  });

  it('the service is not ready when its role may only read', async () => {
    await opened.database.query(`ALTER ROLE ${ROLE} SET default_transaction_read_only = on`);
    await disconnect();
    await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(append(backend.responses, tenant, 'b')).rejects.toBeInstanceOf(StoreUnavailableError);
    // As many as the pool opens at once, and their successors.
    await opened.database.query(`ALTER ROLE ${ROLE} CONNECTION LIMIT 30`);
    await Promise.all(Array.from({ length: 30 }, () => backend.responses.get(tenant, 'a')));
    await opened.database.query(`ALTER ROLE ${ROLE} RESET default_transaction_read_only`);
    // The connections that are open may still only read: the check replaces them.
    await expect(backend.responses.check()).resolves.toBeUndefined();
    await append(backend.responses, tenant, 'b', { expiresAt: Date.now() + TTL_MS });
  });

  it('the service is not ready while one of its tables is missing, or may not be written to by its role', async () => {
    const ours = `SELECT schemaname || '.' || tablename AS name FROM pg_tables
      WHERE schemaname = 'antiphon' AND tablename <> 'migrations' OR schemaname = 'antiphon_jobs' AND tablename IN ('job', 'queue')`;
    const tables = (await opened.database.query(ours)).map(({ name }) => String(name));
    expect(tables.length).toBeGreaterThan(20);
    for (const table of tables) {
      const [schema, name] = table.split('.');
      await opened.database.query(`ALTER TABLE ${table} RENAME TO gone`);
      await expect(backend.responses.check()).rejects.toThrow(`the database lacks ${table}`);
      await opened.database.query(`ALTER TABLE ${schema}.gone RENAME TO ${name}`);
      await opened.database.query(`REVOKE INSERT ON ${table} FROM ${ROLE}`);
      await expect(backend.responses.check()).rejects.toThrow(`the role may not use ${table}`);
      await opened.database.query(`GRANT INSERT ON ${table} TO ${ROLE}`);
    }
    await expect(backend.responses.check()).resolves.toBeUndefined();
  });

  it('the service is not ready while one of its sequences is missing, or may not be used by its role', async () => {
    // Not those of columns, which need no right.
    const ours = `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE relkind = 'S' AND relnamespace = 'antiphon'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND classid = 'pg_class'::regclass AND deptype IN ('a', 'i'))`;
    const sequences = (await opened.database.query(ours)).map(({ name }) => String(name));
    expect(sequences.length).toBeGreaterThan(1);
    for (const sequence of sequences) {
      const [schema, name] = sequence.split('.');
      await opened.database.query(`ALTER SEQUENCE ${sequence} RENAME TO gone`);
      await expect(backend.responses.check()).rejects.toThrow(`the database lacks ${sequence}`);
      await opened.database.query(`ALTER SEQUENCE ${schema}.gone RENAME TO ${name}`);
      await opened.database.query(`REVOKE ALL ON SEQUENCE ${sequence} FROM ${ROLE}`);
      await expect(backend.responses.check()).rejects.toThrow(`the role may not use ${sequence}`);
      await opened.database.query(`GRANT USAGE ON SEQUENCE ${sequence} TO ${ROLE}`);
    }
    await expect(backend.responses.check()).resolves.toBeUndefined();
  });

  it('the service is not ready when PostgreSQL no longer lets its role in', async () => {
    await opened.database.query(`ALTER ROLE ${ROLE} NOLOGIN`);
    await disconnect();
    await expect(backend.responses.get(tenant, 'a')).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(backend.responses.get(tenant, 'a')).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});
