import type { DatabaseSync } from 'node:sqlite';

import type { Call, Reply } from './calls.js';
import type { Operations } from './operations.js';

type Operation = (...args: readonly unknown[]) => unknown;

/**
 * Executes calls in order, in one transaction: calls that arrive together share one write to the disk. A call that fails changes
 * nothing; when the transaction fails, all of them do.
 */
export function execute(database: DatabaseSync, operations: Operations, calls: readonly Call[]): readonly Reply[] {
  const table = operations as unknown as Readonly<Record<string, Operation>>;
  try {
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
        return { id, error: messageOf(error) };
      } finally {
        if (database.isTransaction) database.exec('RELEASE call');
      }
    });
    database.exec('COMMIT');
    return replies;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    return calls.map(({ id }) => ({ id, error: messageOf(error) }));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
