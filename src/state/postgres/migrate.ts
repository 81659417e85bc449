import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Logger } from '@nestjs/common';
import pg from 'pg';

import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';
import { type DatabaseSettings, directOptions, isPooled } from './connection-options.js';
import { migrateJobs, pendingJobsMigration } from './migrate-jobs.js';
import { migratePgvector, pendingPgvector } from './pgvector.js';

/** One numbered statement per file; released files are never edited. */
const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url));
/** The schema of all tables, except those of the job queue. */
const SCHEMA = 'antiphon';
/** Held until the connection ends. */
const LOCK = `SELECT pg_advisory_lock(hashtextextended('${SCHEMA}', 0))`;
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

const logger = new Logger('Migrations');

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
  if ((await findPending(client)).length === 0) return [];
  // Loaded on demand: most starts have nothing to migrate.
  const { runner } = await import('node-pg-migrate');
  const applied = await runner({
    dbClient: client,
    dir: MIGRATIONS,
    direction: 'up',
    migrationsTable: 'migrations',
    migrationsSchema: SCHEMA,
    // A role without permission to create schemas can use an existing one.
    createMigrationsSchema: !(await hasSchema(client)),
    singleTransaction: true,
    advisoryLockMode: 'wait',
    logger: { info: noLog, warn: noLog, error: (message: string) => logger.error(message) },
  });
  return applied.map(({ name }) => name);
}

function toList(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}

async function hasSchema(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(`SELECT to_regnamespace('${SCHEMA}') IS NOT NULL AS has`);
  return rows[0]?.has === true;
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
