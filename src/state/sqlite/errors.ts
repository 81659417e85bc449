import { reasonOfDamage } from '../read-record.js';

/** The file is of a later version of the schema. */
export class NewerFileError extends Error {
  override readonly name = 'NewerFileError';
}

/** The file has been found to be damaged. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

/** The file is of another program. */
export class ForeignFileError extends Error {
  override readonly name = 'ForeignFileError';
}

/** The file was removed or replaced while it was open. */
export class MovedFileError extends Error {
  override readonly name = 'MovedFileError';
}

/** Makes the sentence for the operator from a place, and from what was found there. */
type Explain = (place: string, found: string) => string;

/** The variable, and the option of the program. */
const DIRECTORY = 'STATE_DIR (--state-dir)';

const inUse: Explain = (place) =>
  `Another process uses the state in ${place}: stop it, or give each process a ${DIRECTORY} of its own.`;
const newer: Explain = (place) =>
  `The state in ${place} was written by a later version of Antiphon: start that version, or set another ${DIRECTORY}.`;
const foreign: Explain = (place) =>
  `The database in ${place} is not a state of Antiphon: move it elsewhere, or set another ${DIRECTORY}.`;
const moved: Explain = (place) =>
  `The state in ${place} was removed or replaced while it was open: put its files back, or restart the service to use what is there now.`;
const damaged: Explain = (place, found) =>
  `The state in ${place} is damaged (${found}): its files are kept; restore them from a backup, or set another ${DIRECTORY} to start with nothing.`;
const unwritable: Explain = (place) =>
  `The state in ${place} cannot be written: make the directory and its files writable, or set another ${DIRECTORY}.`;
const full: Explain = (place) => `The disk of ${place} is full: make room, or set a ${DIRECTORY} on another disk.`;
const limited: Explain = (place, found) =>
  `The files of ${place} cannot be written (${found}): check the disk, its quota, and the limit of file sizes (ulimit -f).`;
const notADirectory: Explain = (place) => `${place} cannot be created, a file is in its way: set another ${DIRECTORY}.`;

/** By the primary result codes of SQLite, https://www.sqlite.org/rescode.html. */
const BY_RESULT: Readonly<Record<number, Explain>> = {
  3: unwritable,
  5: inUse,
  6: inUse,
  8: unwritable,
  11: damaged,
  13: full,
  14: unwritable,
  23: unwritable,
  26: damaged,
};

/** SQLITE_IOERR_LOCK: a file that may only be read cannot be locked for writing. */
const CANNOT_LOCK = 3850;

/** SQLITE_IOERR_WRITE: the system has refused to write for another reason than a full disk, such as a quota (EDQUOT, EFBIG). */
const CANNOT_WRITE = 778;

const BY_CODE: Readonly<Record<string, Explain>> = {
  EACCES: unwritable,
  EPERM: unwritable,
  EROFS: unwritable,
  // So mkdir answers below a directory of a file system that can only be read.
  ENOENT: unwritable,
  ENOSPC: full,
  EDQUOT: full,
  EEXIST: notADirectory,
  ENOTDIR: notADirectory,
};

/** Why the state in a directory could not be opened, and what to do, in one sentence for the operator. */
export function explainStart(error: unknown, directory: string): string {
  const place = placeOf(directory);
  const { errcode, code } = error as { readonly errcode?: number; readonly code?: string };
  const found = reasonOf(error);
  if (error instanceof NewerFileError) return newer(place, found);
  if (error instanceof ForeignFileError) return foreign(place, found);
  if (error instanceof DamagedFileError) return damaged(place, found);
  if (errcode === CANNOT_LOCK) return unwritable(place, found);
  if (errcode === CANNOT_WRITE) return limited(place, found);
  const explain = errcode === undefined ? BY_CODE[code ?? ''] : BY_RESULT[errcode & 0xff];
  if (explain !== undefined) return explain(place, found);
  return `The state in ${place} cannot be opened (${found}): check the disk, or set another ${DIRECTORY}.`;
}

/** Why an operation on the state in a directory has failed, and what to do if there is something to do. */
export function explainFailure(error: unknown, directory: string): string {
  const place = placeOf(directory);
  const found = reasonOf(error);
  if (error instanceof MovedFileError) return moved(place, found);
  // What is stored is JSON, unless something else has written to the disk.
  if (error instanceof SyntaxError) return damaged(place, reasonOfDamage(error));
  const { errcode } = error as { readonly errcode?: number };
  if (errcode === CANNOT_WRITE) return limited(place, found);
  const explain = errcode === undefined ? undefined : BY_RESULT[errcode & 0xff];
  return explain === damaged || explain === full ? explain(place, found) : found;
}

/** Whether SQLite has refused something. */
export function isSqliteError(error: unknown): boolean {
  return (error as { readonly errcode?: number }).errcode !== undefined;
}

/** Whether SQLite has refused something as there is no room for it, on the disk or within a quota. */
export function isFull(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number };
  return errcode !== undefined && (errcode === CANNOT_WRITE || BY_RESULT[errcode & 0xff] === full);
}

function placeOf(directory: string): string {
  return `STATE_DIR (${directory})`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
