import { rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

import type { CallAnswer, Call, OperationName, Reply } from './calls.js';
import { explainFailure, isFull, MovedFileError } from './errors.js';
import type { Operations } from './operations.js';
import { toRefusal } from './refusals.js';

/** Which file is at a path; undefined if there is none. */
function fileAt(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** Files that are open: SQLite goes on in a file that was removed or replaced, where nobody finds what it writes. */
export class OpenFiles {
  private readonly files: readonly (readonly [path: string, file: string | undefined])[];

  /** Takes what is at the paths now for what is open. */
  constructor(paths: readonly string[]) {
    this.files = paths.map((path) => [path, fileAt(path)]);
  }

  /** Throws MovedFileError when one of them is not at its path any more. Takes some microseconds. */
  requireInPlace(): void {
    for (const [path, file] of this.files) {
      if (fileAt(path) !== file) throw new MovedFileError(path);
    }
  }
}

type Operation = (...args: readonly unknown[]) => unknown;

/** A state that is open. */
export interface OpenState {
  readonly directory: string;
  readonly database: DatabaseSync;
  readonly operations: Operations;
  /** The time of the call that is executed. */
  readonly time: { now: number };
  readonly files: OpenFiles;
  readonly reserve: Reserve;
}

/** What makes room, and needs some for it: what is written goes to the log first. */
const FREEING: ReadonlySet<OperationName> = new Set([
  'responses.delete',
  'vectorStores.cancelBatch',
  'files.cancel',
  'conversations.delete',
  'conversations.deleteItem',
  'files.delete',
  'sessions.delete',
  'vectorStores.delete',
  'vectorStores.detach',
  'files.discard',
  'conversations.forget',
  'log.forget',
  'tombstones.free',
  'files.purge',
  'usage.purge',
  'vectorStores.purge',
  'vectors.purge',
  'jobs.ended',
  'tombstones.sweep',
]);

/**
 * Executes calls in order, in one transaction: calls that arrive together share one write to the disk. A call that fails changes
 * nothing. Few do, so calls have savepoints, which cost a seventh of a save, only once one of them has failed. When that fails too, each
 * call is executed alone: on a full disk, what reads is answered, and what frees room may use the reserve.
 */
export function execute(state: OpenState, calls: readonly Call[]): readonly Reply[] {
  try {
    return inTransaction(state, () => calls.map((call) => run(state, call)));
  } catch (error) {
    const { database, directory, reserve } = state;
    if (database.isTransaction) database.exec('ROLLBACK');
    const [call] = calls;
    if (call === undefined || calls.length > 1) return executeApart(state, calls);
    if (isFull(error) && FREEING.has(call.name) && reserve.giveUp(database)) return execute(state, calls);
    return [{ id: call.id, ...toAnswer(error, directory) }];
  }
}

/** Executes calls in one transaction without those that fail. */
function executeApart(state: OpenState, calls: readonly Call[]): readonly Reply[] {
  try {
    return inTransaction(state, () => calls.map((call) => runInSavepoint(state, call)));
  } catch {
    if (state.database.isTransaction) state.database.exec('ROLLBACK');
    return calls.flatMap((one) => execute(state, [one]));
  }
}

/** Throws the error that has ended the transaction, also when its file has been removed meanwhile. */
function inTransaction({ database, files, reserve }: OpenState, answer: () => readonly Reply[]): readonly Reply[] {
  files.requireInPlace();
  database.exec('BEGIN');
  const replies = answer();
  database.exec('COMMIT');
  // Writes are not acknowledged once the file was removed or moved.
  files.requireInPlace();
  reserve.countTransaction();
  return replies;
}

function run({ operations, time }: OpenState, { id, name, args, now }: Call): Reply {
  const table = operations as unknown as Readonly<Record<string, Operation>>;
  time.now = now;
  return { id, value: table[name]?.(...args) };
}

function runInSavepoint(state: OpenState, call: Call): Reply {
  const { database, directory } = state;
  database.exec('SAVEPOINT call');
  try {
    return run(state, call);
  } catch (error) {
    // The disk is full or broken: SQLite has ended the whole transaction.
    if (!database.isTransaction || isFull(error)) throw error;
    database.exec('ROLLBACK TO call');
    return { id: call.id, ...toAnswer(error, directory) };
  } finally {
    if (database.isTransaction) database.exec('RELEASE call');
  }
}

function toAnswer(error: unknown, directory: string): CallAnswer {
  const refusal = toRefusal(error);
  return refusal === undefined ? { error: explainFailure(error, directory) } : { refusal };
}

/**
 * Bytes of the reserve. SQLite moves its log into the file once the log has 4 MiB, which the file may grow by: with that room, the log
 * begins again, and deletions find room in it.
 */
const RESERVE_BYTES = 8 * 1024 * 1024;

/** Transactions after which it is made, or made again: short-lived states do without. */
const RESERVE_AFTER = 100;

/** A file of zeros beside the database. On a full disk it is removed, so that deletions and the purge have room to free room. */
export class Reserve {
  private transactions = 0;

  constructor(private readonly path: string) {}

  /** Makes it now and then, if it is not there and twice its room is. Throws nothing: the transaction that it counts is stored. */
  countTransaction(): void {
    this.transactions += 1;
    if (this.transactions % RESERVE_AFTER === 0) this.keep();
  }

  /** Removes it, and lets the log begin again; false if it is not there, or cannot be removed. */
  giveUp(database: DatabaseSync): boolean {
    if (!this.isThere() || !this.remove()) return false;
    try {
      database.exec('PRAGMA wal_checkpoint(RESTART)');
    } catch {
      // What needs the room is tried again, and tells what is wrong with the disk.
    }
    return true;
  }

  private isThere(): boolean {
    try {
      return statSync(this.path).isFile();
    } catch {
      return false;
    }
  }

  /** Whether it could be removed: something else may be in its place, or the directory may not be changed. */
  private remove(): boolean {
    try {
      rmSync(this.path, { force: true });
      return true;
    } catch {
      return false;
    }
  }

  private keep(): void {
    try {
      if (statSync(this.path, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
      const { bavail, bsize } = statfsSync(dirname(this.path));
      if (bavail * bsize < 2 * RESERVE_BYTES) return;
      writeFileSync(this.path, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 });
    } catch {
      // Without one, deletions on a full disk wait until there is room.
      this.remove();
    }
  }
}
