import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import type { ThreadOptions } from './calls.js';
import { DamagedFileError, ForeignFileError, isSqliteError, NewerFileError } from './errors.js';
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

/**
 * Opens the file for this process alone, and brings its schema up to date. Only SQLite decides whether the file is whole, and only after it
 * has replayed the log beside it: a process that was killed in a checkpoint leaves a file that is whole only with its log. `explainStart`
 * explains what it throws. `extension`: the file of one to load.
 */
export function openDatabase({ directory, maxPages }: ThreadOptions, extension: string | null = null): DatabaseSync {
  const file = join(directory, FILE_NAME);
  const log = sizeOf(`${file}-wal`);
  // SQLite would take the file for a new one, and remove the log.
  if (log > 0 && sizeOf(file) === 0) throw new DamagedFileError(`${FILE_NAME} is missing or empty, and its log is not`);
  refuseOthers(file);
  const isChecked = sizeOf(file) <= (log > 0 ? CHECKED_BYTES.afterCrash : CHECKED_BYTES.always);
  createPrivate(file);
  const database = new DatabaseSync(file, { allowExtension: extension !== null });
  try {
    // No other process can open the file from now on.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const isNew = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
    // Before WAL, so that the file itself says whose it is, also after a crash.
    if (isNew) database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    // Again, as the log may say something else than the file.
    requireOurs(database, file);
    database.exec(SETTINGS);
    if (isChecked) requireWhole(database);
    if (extension !== null) {
      database.loadExtension(extension);
      database.enableLoadExtension(false);
    }
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

/**
 * Throws ForeignFileError if it is no file, and ForeignFileError or NewerFileError if its header says so, and leaves the file and the log beside it as they are. Says nothing of
 * a header that cannot be read: what is damaged is known once the log was replayed.
 */
function refuseOthers(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  // A directory, for example, of which SQLite says that the disk is broken.
  if (stats?.isFile() === false) throw new ForeignFileError(file);
  if (!stats?.size) return;
  const url = pathToFileURL(file);
  // Without locks and without the log. Read by SQLite itself: closing a file of one's own drops the locks of the process on it.
  url.searchParams.set('immutable', '1');
  const header = new DatabaseSync(url, { readOnly: true, defensive: false });
  try {
    // The header is believed even if it says that the file is longer than it is: so a checkpoint leaves it that has begun.
    header.exec('PRAGMA writable_schema = ON');
    requireOurs(header, file);
  } catch (error) {
    if (!isSqliteError(error)) throw error;
  } finally {
    header.close();
  }
}

/** Throws ForeignFileError and NewerFileError. */
function requireOurs(database: DatabaseSync, file: string): void {
  if (pragma(database, 'application_id') !== APPLICATION_ID) throw new ForeignFileError(file);
  const version = pragma(database, 'user_version');
  if (version > SCHEMA_VERSION) throw new NewerFileError(`version ${version}`);
}

/** Creates the file, if there is none, for its owner alone; SQLite gives the files beside it the same permissions. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Checks what the disk has kept. Throws DamagedFileError. */
function requireWhole(database: DatabaseSync): void {
  const result = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (result !== 'ok') throw new DamagedFileError(String(result));
}

function migrate(database: DatabaseSync): void {
  const version = pragma(database, 'user_version');
  if (version === SCHEMA_VERSION) return;
  database.exec('BEGIN IMMEDIATE');
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}

function pragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
