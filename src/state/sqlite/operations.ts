import type { DatabaseSync } from 'node:sqlite';

import { secretOperations } from './operations/secrets.js';

/** What the thread can be asked for, by name: synchronous functions over the database. */
export function operationsOf(database: DatabaseSync) {
  return { ...secretOperations(database) };
}

/** The operations; the types of calls and replies follow from them. */
export type Operations = ReturnType<typeof operationsOf>;
