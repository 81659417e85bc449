import type { DatabaseSync } from 'node:sqlite';

/** Whether the database can be read, and written. */
export function checkOperations(database: DatabaseSync) {
  const select = database.prepare('SELECT 1');
  return {
    check: (): void => void select.get(),

    /** Writes something that needs room. */
    checkWriting: (): void => database.exec('CREATE TABLE room (page INTEGER) STRICT; DROP TABLE room'),
  };
}
