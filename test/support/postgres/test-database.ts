import { randomUUID } from 'node:crypto';

import { Client, Pool } from 'pg';

/** An empty database that belongs to one test. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** Runs one statement and gives its rows. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Removes the database, cutting whoever is still connected. */
  drop(): Promise<void>;
}

/** Creates a database on the server of the test run, or on another one. */
export async function createTestDatabase(serverUrl = testServerUrl()): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await execute(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pool = new Pool({ connectionString: url.href });
  // A test may take the server away while connections lie idle.
  pool.on('error', () => undefined);
  let dropped: Promise<void> | undefined;
  const dropOnce = async (): Promise<void> => {
    await pool.end();
    await execute(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  };
  const drop = (): Promise<void> => (dropped ??= dropOnce());
  return {
    url: url.href,
    query: async (sql, values = []) => {
      const { rows } = await pool.query<Record<string, unknown>>(sql, [...values]);
      return rows;
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

function testServerUrl(): string {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: jest did not start the PostgreSQL server');
  return url;
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
