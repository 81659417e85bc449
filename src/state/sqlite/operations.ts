import type { DatabaseSync } from 'node:sqlite';

import { claimOperations } from './operations/claims.js';
import { chainOperations, responseOperations } from './operations/responses.js';
import { secretOperations } from './operations/secrets.js';
import { conversationOperations } from './operations/conversations.js';
import { deleteOperations, freeOperations } from './operations/delete.js';
import { eventLogOperations } from './operations/log.js';
import { fileOperations } from './operations/files.js';
import { graphOperations } from './operations/graph.js';
import { jobOperations } from './operations/jobs.js';
import { objectOperations } from './operations/objects.js';
import { moveInOperations } from './operations/move-in.js';
import { moveOutOperations } from './operations/move-out.js';
import { runEndOperations } from './operations/run-ends.js';
import { runOperations } from './operations/runs.js';
import { storeFileClaimOperations } from './operations/store-file-claims.js';
import { sessionOperations } from './operations/sessions.js';
import { vectorOperations } from './operations/vectors.js';
import { vectorStoreOperations } from './operations/vector-stores.js';
import { usageOperations } from './operations/usage.js';

/** What the thread can be asked for, by name: synchronous functions over the database. */
export function operationsOf(database: DatabaseSync) {
  const jobs = jobOperations(database);
  const log = eventLogOperations(database);
  return {
    ...responseOperations(database),
    ...chainOperations(database),
    ...deleteOperations(database),
    ...freeOperations(database),
    ...graphOperations(database),
    ...sessionOperations(database),
    ...conversationOperations(database),
    ...jobs,
    ...log,
    ...runOperations(database, log, jobs),
    ...runEndOperations(database, log, jobs),
    ...secretOperations(database),
    ...claimOperations(database),
    ...checkOperations(database),
    ...usageOperations(database),
    ...fileOperations(database),
    ...objectOperations(database),
    ...vectorOperations(database),
    ...vectorStoreOperations(database),
    ...storeFileClaimOperations(database),
    ...moveOutOperations(database),
    ...moveInOperations(database, log),
  };
}

/** The operations; the types of calls and replies follow from them. */
export type Operations = ReturnType<typeof operationsOf>;

/** Whether the database can be read, and written. */
function checkOperations(database: DatabaseSync) {
  const select = database.prepare('SELECT 1');
  return {
    check: (): void => void select.get(),

    /** Writes something that needs room. */
    checkWriting: (): void => database.exec('CREATE TABLE room (page INTEGER) STRICT; DROP TABLE room'),
  };
}
