import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import pg from 'pg';

import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';
import { type DatabaseSettings, directOptions, isPooled } from './connection-options.js';
import { hasSchema, migrateJobs, pendingJobsMigration } from './migrate-jobs.js';
import { migratePgvector, pendingPgvector } from './pgvector.js';

/** One numbered statement per file; released files are never edited. */
const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url));
/** The schema of all tables, except those of the job queue. */
const SCHEMA = 'antiphon';
/** What has been applied. The form is that of node-pg-migrate, which made the first databases. */
const TABLE = `CREATE TABLE IF NOT EXISTS ${SCHEMA}.migrations
  (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL)`;
/** Held until the connection ends. */
const LOCK = `SELECT pg_advisory_lock(hashtextextended('${SCHEMA}', 0))`;
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

/**
 * The names of the migrations that the database lacks. Needs no permission to change the schema. Throws
 * StateStartError.
 */
export function pendingMigrations(settings: DatabaseSettings): Promise<readonly string[]> {
  return withClient(settings, (client) => findAllPending(client, settings));
}

/**
 * Brings both schemas up to date, each in one transaction, and returns the names of the applied migrations. Replicas
 * that start at once wait for each other, and one applies all. Newer schemas are left unchanged. Throws StateStartError.
 */
export function migrate(settings: DatabaseSettings): Promise<readonly string[]> {
  return withClient(settings, async (client) => {
    if ((await findAllPending(client, settings)).length === 0) return [];
    await client.query(LOCK);
    const applied = [...(await applyPending(client)), ...toList(await migrateJobs(client))];
    return [...applied, ...toList(await migratePgvector(client, settings))];
  });
}

async function findAllPending(client: pg.Client, settings: DatabaseSettings): Promise<readonly string[]> {
  const pending = [...(await findPending(client)), ...toList(await pendingJobsMigration(client))];
  return [...pending, ...toList(await pendingPgvector(client, settings))];
}

async function applyPending(client: pg.Client): Promise<readonly string[]> {
  const names = await findPending(client);
  if (names.length === 0) return [];
  // What fails ends the connection, and with it the transaction.
  await client.query('BEGIN');
  // A role without permission to create schemas can use an existing one.
  if (!(await hasSchema(client, SCHEMA))) await client.query(`CREATE SCHEMA ${SCHEMA}`);
  await client.query(TABLE);
  for (const name of names) {
    const statement = await readFile(join(MIGRATIONS, `${name}.sql`), 'utf8');
    try {
      await client.query(`${statement};\nINSERT INTO ${SCHEMA}.migrations (name, run_on) VALUES ('${name}', now())`);
    } catch (error) {
      throw new Error(`migration ${name}: ${describe(error)}`, { cause: error });
    }
  }
  await client.query('COMMIT');
  return names;
}

function toList(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}

async function findPending(client: pg.Client): Promise<readonly string[]> {
  const files = await readdir(MIGRATIONS);
  const applied = await findApplied(client);
  return files
    .map((file) => basename(file, '.sql'))
    .filter((name) => !applied.has(name))
    .sort();
}

async function findApplied(client: pg.Client): Promise<ReadonlySet<string>> {
  try {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${SCHEMA}.migrations`);
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) return new Set();
    throw error;
  }
}

async function withClient<T>(settings: DatabaseSettings, work: (client: pg.Client) => Promise<T>): Promise<T> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client(directOptions(settings));
    // The running statement is rejected with the same error.
    client.on('error', noLog);
    await client.connect();
    return await work(client);
  } catch (error) {
    if (error instanceof StateStartError) throw error;
    const variable = isPooled(settings) ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
    throw new StateStartError(`${variable}: ${describe(error)}`, { cause: error });
  } finally {
    await client?.end();
  }
}

function noLog(): void {
  // The caller reports the result.
}
