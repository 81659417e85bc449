/** The file is of a later version of the schema. */
export class NewerFileError extends Error {
  override readonly name = 'NewerFileError';
}

/** The file has been found to be damaged. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

type Explain = (place: string) => string;

const inUse: Explain = (place) =>
  `Another process uses the state in ${place}: stop it, or give each process a STATE_DIR of its own.`;
const newer: Explain = (place) =>
  `The state in ${place} was written by a later version of Antiphon: start that version, or set another STATE_DIR.`;
const damaged: Explain = (place) =>
  `The state in ${place} is damaged: restore its files from a backup, or set another STATE_DIR to start with nothing.`;
const unwritable: Explain = (place) =>
  `The state in ${place} cannot be written: make the directory and its files writable, or set another STATE_DIR.`;
const full: Explain = (place) => `The disk of ${place} is full: make room, or set a STATE_DIR on another disk.`;
const notADirectory: Explain = (place) => `${place} cannot be created, a file is in its way: set another STATE_DIR.`;

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
  const place = `STATE_DIR (${directory})`;
  const { errcode, code } = error as { readonly errcode?: number; readonly code?: string };
  if (error instanceof NewerFileError) return newer(place);
  if (error instanceof DamagedFileError) return damaged(place);
  if (errcode === CANNOT_LOCK) return unwritable(place);
  const explain = errcode === undefined ? BY_CODE[code ?? ''] : BY_RESULT[errcode & 0xff];
  if (explain !== undefined) return explain(place);
  const reason = error instanceof Error ? error.message : String(error);
  return `The state in ${place} cannot be opened (${reason}): check the disk, or set another STATE_DIR.`;
}
