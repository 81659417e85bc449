import type { DatabaseSync } from 'node:sqlite';

import { sqliteClaims } from './claims.js';
import { type Named, named } from './executed.js';
import { sqliteFiles } from './files.js';
import { sqliteSecrets } from './secrets.js';
import { sqliteUsage } from './usage.js';
import { sqliteVectorStores } from './vector-stores.js';
import { sqliteVectors } from './vectors.js';
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

/**
 * What the thread can be asked for: synchronous functions over the database, by the contract that they belong to. `now`: the time of the call,
 * milliseconds since the epoch.
 */
export function groupsOf(database: DatabaseSync, now: () => number) {
  const jobs = jobOperations(database);
  const log = eventLogOperations(database, now);
  return {
    responses: {
      ...responseOperations(database, now),
      ...chainOperations(database, now),
      ...deleteOperations(database, now),
      ...freeOperations(database, now),
    },
    runs: { ...runOperations(database, now, log, jobs), ...runEndOperations(database, now, log, jobs) },
    graph: graphOperations(database, now),
    sessions: sessionOperations(database, now),
    conversations: conversationOperations(database, now),
    secrets: sqliteSecrets(database),
    claims: sqliteClaims(database, now),
    log,
    jobs,
    transfer: { ...moveOutOperations(database), ...moveInOperations(database, log) },
    usage: sqliteUsage(database),
    ...sqliteFiles(database, now),
    vectors: sqliteVectors(database),
    vectorStores: sqliteVectorStores(database, now),
    check: checkOperations(database),
  };
}

/** The groups. */
export type Groups = ReturnType<typeof groupsOf>;

/** Its operations, by the names of their group and their own; the types of calls and replies follow from them. */
export function operationsOf(database: DatabaseSync, now: () => number) {
  return named(groupsOf(database, now));
}

/** The operations. */
export type Operations = Named<Groups>;

/** Whether the database can be read, and written. */
function checkOperations(database: DatabaseSync) {
  const select = database.prepare('SELECT 1');
  return {
    read: (): void => void select.get(),

    /** Writes something that needs room. */
    write: (): void => database.exec('CREATE TABLE room (page INTEGER) STRICT; DROP TABLE room'),
  };
}
