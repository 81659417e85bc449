import type { DatabaseSync } from 'node:sqlite';

import type { Call, Reply } from './calls.js';
import { explainFailure } from './explain-error.js';
import type { OpenFiles } from './open-files.js';
import type { Operations } from './operations.js';

type Operation = (...args: readonly unknown[]) => unknown;

/** A state that is open. */
export interface OpenState {
  readonly directory: string;
  readonly database: DatabaseSync;
  readonly operations: Operations;
  readonly files: OpenFiles;
}

/**
 * Executes calls in order, in one transaction: calls that arrive together share one write to the disk. A call that fails changes
 * nothing; when the transaction fails, all of them do, also when its file has been removed meanwhile.
 */
export function execute(state: OpenState, calls: readonly Call[]): readonly Reply[] {
  const { directory, database, operations, files } = state;
  const table = operations as unknown as Readonly<Record<string, Operation>>;
  try {
    files.requireInPlace();
    database.exec('BEGIN');
    const replies = calls.map(({ id, name, args }): Reply => {
      if (calls.length === 1) return { id, value: table[name]?.(...args) };
      database.exec('SAVEPOINT call');
      try {
        return { id, value: table[name]?.(...args) };
      } catch (error) {
        // The disk is full or broken: SQLite has ended the whole transaction.
        if (!database.isTransaction) throw error;
        database.exec('ROLLBACK TO call');
        return { id, error: explainFailure(error, directory) };
      } finally {
        if (database.isTransaction) database.exec('RELEASE call');
      }
    });
    database.exec('COMMIT');
    // Nothing is acknowledged that is in no directory.
    files.requireInPlace();
    return replies;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    const reason = explainFailure(error, directory);
    return calls.map(({ id }) => ({ id, error: reason }));
  }
}
