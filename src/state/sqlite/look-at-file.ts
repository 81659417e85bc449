import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { ForeignFileError, NewerFileError } from './explain-error.js';
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.js';

/**
 * Looks at a file before anything writes to it: true when it is a state of Antiphon, false when it is empty or missing. Throws
 * ForeignFileError, NewerFileError and the errors of SQLite, and leaves the file as it is.
 */
export function isState(file: string): boolean {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return false;
  const url = pathToFileURL(file);
  // Without locks and without the log beside it. Read by SQLite itself: closing a file of one's own drops the locks of the process on it.
  url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    if (pragma(database, 'application_id') !== APPLICATION_ID) throw new ForeignFileError(file);
    requireKnownVersion(database);
    return true;
  } finally {
    database.close();
  }
}

/** The version of the schema that a file has. Throws NewerFileError. */
export function requireKnownVersion(database: DatabaseSync): number {
  const version = pragma(database, 'user_version');
  if (version > SCHEMA_VERSION) throw new NewerFileError(`version ${version}`);
  return version;
}

function pragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
