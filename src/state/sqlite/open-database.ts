import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { ThreadOptions } from './calls.js';
import { DamagedFileError } from './explain-error.js';
import { isState, requireKnownVersion } from './look-at-file.js';
import { APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION } from './schema.js';

/** The name of the file. */
export const FILE_NAME = 'antiphon.sqlite';

/** Longest file that is checked at every start, bytes, which takes a tenth of a second; and after a crash, which takes a second. */
const CHECKED_BYTES = { always: 64 * 1024 * 1024, afterCrash: 512 * 1024 * 1024 } as const;

/**
 * WAL after `locking_mode = EXCLUSIVE`: no memory is shared. FULL: what is committed is on the disk.
 * The file of the WAL is shortened after a checkpoint if it has grown.
 */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY`;

/** Opens the file for this process alone, and brings its schema up to date. `explainStart` explains what it throws. */
export function openDatabase({ directory, maxPages }: ThreadOptions): DatabaseSync {
  const file = join(directory, FILE_NAME);
  const checkedBytes = sizeOf(`${file}-wal`) > 0 ? CHECKED_BYTES.afterCrash : CHECKED_BYTES.always;
  const isChecked = sizeOf(file) <= checkedBytes;
  const isNew = !isState(file);
  const database = new DatabaseSync(file);
  try {
    // No other process can open the file from now on.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    // Before WAL, so that the file itself says whose it is, also after a crash.
    if (isNew) database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(SETTINGS);
    if (isChecked) requireWhole(database);
    migrate(database);
    if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${maxPages}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Moves what is in the WAL into the file, and closes it. */
export function closeDatabase(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA optimize');
  } finally {
    database.close();
  }
}

/** Checks what the disk has kept. Throws DamagedFileError. */
function requireWhole(database: DatabaseSync): void {
  const result = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (result !== 'ok') throw new DamagedFileError(String(result));
}

function migrate(database: DatabaseSync): void {
  // Again, since the log beside the file may have a later one.
  const version = requireKnownVersion(database);
  if (version === SCHEMA_VERSION) return;
  database.exec('BEGIN IMMEDIATE');
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
