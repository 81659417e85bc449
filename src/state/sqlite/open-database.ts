import { DatabaseSync } from 'node:sqlite';

import { MIGRATIONS, SCHEMA_VERSION } from './schema.js';

/** Opens the file for this process alone, and brings its schema up to date. Throws an Error for the operator. */
export function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  // Exclusive before WAL: no other process can open the file, and there is no shared memory.
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  migrate(database);
  return database;
}

function migrate(database: DatabaseSync): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version > SCHEMA_VERSION) throw new Error('the file is newer than this program');
  database.exec('BEGIN IMMEDIATE');
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}
