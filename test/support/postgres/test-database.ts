import { randomUUID } from 'node:crypto';

import { Client, Pool } from 'pg';

/** A database that belongs to one test. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** Runs one statement and gives its rows. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Removes what is in it, cutting whoever is still connected. */
  drop(): Promise<void>;
}

/** The database of the test run that has the schema and nothing else. */
const TEMPLATE = 'antiphon_template';

/** Has `fill` make the schema, once for the test run: it takes longer than most tests. */
export async function createTemplate(serverUrl: string, fill: (url: string) => Promise<unknown>): Promise<void> {
  await execute(serverUrl, `CREATE DATABASE ${TEMPLATE}`);
  await fill(urlOf(serverUrl, TEMPLATE));
}

/** Copies of the template that no test has now. */
const unused: OwnDatabase[] = [];

/** A database on the server of the test run, as the service leaves it after its migrations. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const copy = unused.pop() ?? (await OwnDatabase.create(testServerUrl(), TEMPLATE));
  // To copy takes fifty times as long as to empty.
  return handOut(copy, async () => ((await copy.empty()) ? void unused.push(copy) : copy.drop()));
}

/** Creates a database without a schema on the server of the test run, or on another one. */
export async function createEmptyDatabase(serverUrl = testServerUrl()): Promise<TestDatabase> {
  const database = await OwnDatabase.create(serverUrl, 'template1');
  return handOut(database, () => database.drop());
}

function handOut(database: OwnDatabase, giveBack: () => Promise<void>): TestDatabase {
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => (dropped ??= giveBack());
  return {
    url: database.url,
    query: (sql, values) => database.query(sql, values),
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

class OwnDatabase {
  private readonly serverUrl: string;
  private readonly name: string;
  private readonly pool: Pool;
  /** What `SHAPE` gave when it was new. */
  private readonly shape: string;

  // The benchmark has Node itself read this file, which knows no parameter properties.
  private constructor(serverUrl: string, name: string, pool: Pool, shape: string) {
    this.serverUrl = serverUrl;
    this.name = name;
    this.pool = pool;
    this.shape = shape;
  }

  static async create(serverUrl: string, template: string): Promise<OwnDatabase> {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    // The default writes the whole copy to the log as well.
    await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    // Idle connections hold no process, and no test.
    const pool = new Pool({ connectionString: urlOf(serverUrl, name), allowExitOnIdle: true });
    // A test may take the server away while connections lie idle.
    pool.on('error', () => undefined);
    const { rows } = await pool.query<{ shape: string }>(SHAPE);
    return new OwnDatabase(serverUrl, name, pool, String(rows[0]?.shape));
  }

  get url(): string {
    return urlOf(this.serverUrl, this.name);
  }

  async query(sql: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { rows } = await this.pool.query<Record<string, unknown>>(sql, [...values]);
    return rows;
  }

  /** Cuts the connections of others and removes all rows. False when the schema or the settings are no longer those of the template. */
  async empty(): Promise<boolean> {
    while ((await this.query(CUT)).length > 0);
    const [row] = await this.query(SHAPE);
    if (row?.['shape'] !== this.shape) return false;
    await this.pool.query(EMPTY);
    return true;
  }

  async drop(): Promise<void> {
    await this.pool.end();
    await execute(this.serverUrl, `DROP DATABASE ${this.name} WITH (FORCE)`);
  }
}

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

/** What distinguishes a schema from that of the template, with rights and settings; and tables that have grown, which are slow to empty. */
const SHAPE = `SELECT concat_ws(' ',
  (SELECT count(*) FROM pg_class), (SELECT max(oid) FROM pg_class), (SELECT max(oid) FROM pg_proc),
  (SELECT count(*) FROM pg_attribute), (SELECT count(*) FROM pg_constraint), (SELECT count(*) FROM pg_trigger),
  (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())),
  (SELECT md5(string_agg(relacl::text, ' ' ORDER BY oid)) FROM pg_class WHERE relacl IS NOT NULL),
  (SELECT md5(string_agg(nspacl::text, ' ' ORDER BY oid)) FROM pg_namespace WHERE nspacl IS NOT NULL),
  (SELECT count(*) FROM pg_class WHERE relpages > 64 AND relnamespace::regnamespace::text LIKE 'antiphon%')) AS shape`;

/** Deletes, which is quicker than to truncate tables of a few rows; without looking at references, as all rows go. */
const EMPTY = `DO $$ DECLARE each record; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR each IN SELECT schemaname, tablename FROM pg_tables
    WHERE schemaname LIKE 'antiphon%' AND tablename NOT IN ('migrations', 'version') LOOP
    EXECUTE format('DELETE FROM %I.%I', each.schemaname, each.tablename);
  END LOOP;
  PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE schemaname LIKE 'antiphon%';
END $$`;

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
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
