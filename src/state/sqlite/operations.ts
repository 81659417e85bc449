import type { DatabaseSync } from 'node:sqlite';

import { conversationOperations } from './operations/conversations.js';
import { eventLogOperations } from './operations/event-log.js';
import { jobOperations } from './operations/jobs.js';
import { runEndOperations } from './operations/run-ends.js';
import { runOperations } from './operations/runs.js';
import { secretOperations } from './operations/secrets.js';

/** What the thread can be asked for, by name: synchronous functions over the database. */
export function operationsOf(database: DatabaseSync) {
  const jobs = jobOperations(database);
  const log = eventLogOperations(database);
  return {
    ...secretOperations(database),
    ...conversationOperations(database),
    ...jobs,
    ...log,
    ...runOperations(database, log, jobs),
    ...runEndOperations(database, log, jobs),
  };
}

/** The operations; the types of calls and replies follow from them. */
export type Operations = ReturnType<typeof operationsOf>;
