import type { DatabaseSync } from 'node:sqlite';

import { chainOperations } from './operations/chain.js';
import { checkOperations } from './operations/check.js';
import { deleteOperations } from './operations/delete.js';
import { freeOperations } from './operations/free.js';
import { graphOperations } from './operations/graph.js';
import { responseOperations } from './operations/responses.js';
import { secretOperations } from './operations/secrets.js';
import { sessionOperations } from './operations/sessions.js';

/** What the thread can be asked for, by name: synchronous functions over the database. */
export function operationsOf(database: DatabaseSync) {
  return {
    ...responseOperations(database),
    ...chainOperations(database),
    ...deleteOperations(database),
    ...freeOperations(database),
    ...graphOperations(database),
    ...sessionOperations(database),
    ...secretOperations(database),
    ...checkOperations(database),
  };
}

/** The operations; the types of calls and replies follow from them. */
export type Operations = ReturnType<typeof operationsOf>;
