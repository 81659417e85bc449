import type { DatabaseSync } from 'node:sqlite';

import { contractsOf } from './contracts.js';
import { named } from './executed.js';
import { chainOperations, responseOperations } from './operations/responses.js';
import { conversationOperations } from './operations/conversations.js';
import { deleteOperations, freeOperations } from './operations/delete.js';
import { eventLogOperations } from './operations/log.js';
import { graphOperations } from './operations/graph.js';
import { jobOperations } from './operations/jobs.js';
import { moveInOperations } from './operations/move-in.js';
import { moveOutOperations } from './operations/move-out.js';
import { runEndOperations } from './operations/run-ends.js';
import { runOperations } from './operations/runs.js';
import { sessionOperations } from './operations/sessions.js';

/** What the thread can be asked for, by name: synchronous functions over the database. */
export function operationsOf(database: DatabaseSync, now: () => number) {
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
    ...named(contractsOf(database, now)),
    ...checkOperations(database),
    ...moveOutOperations(database),
    ...moveInOperations(database, log),
  };
}

/** The operations; the types of calls and replies follow from them. */
export type Operations = ReturnType<typeof operationsOf>;

/** The contracts that the thread executes. */
export type Contracts = ReturnType<typeof contractsOf>;

/** Whether the database can be read, and written. */
function checkOperations(database: DatabaseSync) {
  const select = database.prepare('SELECT 1');
  return {
    check: (): void => void select.get(),

    /** Writes something that needs room. */
    checkWriting: (): void => database.exec('CREATE TABLE room (page INTEGER) STRICT; DROP TABLE room'),
  };
}
