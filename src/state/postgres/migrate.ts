import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Logger } from '@nestjs/common';
import pg from 'pg';

import { StateStartError } from '../errors.js';
import { type DatabaseSettings, directOptions, isPooled } from './connection-options.js';
import { describe } from './database-errors.js';

/** One statement a file, numbered, never edited once released. */
const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url));
/** Where all tables are. */
const SCHEMA = 'antiphon';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

const logger = new Logger('Migrations');

/** The names of the migrations that the database lacks. It needs no right to change the schema. Throws StateStartError. */
export function pendingMigrations(settings: DatabaseSettings): Promise<readonly string[]> {
  return withClient(settings, findPending);
}

/**
 * Brings the schema up to date, all in one transaction, and gives the names of what was applied. Replicas that start at once
 * wait for each other. A schema that is newer than this program is left alone. Throws StateStartError.
 */
export function migrate(settings: DatabaseSettings): Promise<readonly string[]> {
  return withClient(settings, async (client) => {
    if ((await findPending(client)).length === 0) return [];
    // Most starts have nothing to migrate and do not need it.
    const { runner } = await import('node-pg-migrate');
    const applied = await runner({
      dbClient: client,
      dir: MIGRATIONS,
      direction: 'up',
      migrationsTable: 'migrations',
      migrationsSchema: SCHEMA,
      // A role that may not create schemas can use one that was made for it.
      createMigrationsSchema: !(await hasSchema(client)),
      singleTransaction: true,
      advisoryLockMode: 'wait',
      logger: { info: noLog, warn: noLog, error: (message: string) => logger.error(message) },
    });
    return applied.map(({ name }) => name);
  });
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
    // What breaks also rejects the statement that runs.
    client.on('error', noLog);
    await client.connect();
    return await work(client);
  } catch (error) {
    const variable = isPooled(settings) ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
    throw new StateStartError(`${variable}: ${describe(error)}`, { cause: error });
  } finally {
    await client?.end();
  }
}

function noLog(): void {
  // Whoever asked for the migrations says what became of them.
}
