import type { DatabaseSync } from 'node:sqlite';

import { sqliteClaims } from './claims.js';
import { sqliteConversations } from './conversations.js';
import { type Named, named } from './executed.js';
import { sqliteFiles } from './files.js';
import { sqliteGraph } from './graph.js';
import { sqliteJobs } from './jobs.js';
import { sqliteLog } from './log.js';
import { sqliteResponses } from './responses.js';
import { sqliteRuns } from './runs.js';
import { sqliteSecrets } from './secrets.js';
import { sqliteSessions } from './sessions.js';
import { sqliteTombstones } from './tombstones.js';
import { sqliteTransfer } from './transfer.js';
import { sqliteUsage } from './usage.js';
import { sqliteVectorStores } from './vector-stores.js';
import { sqliteVectors } from './vectors.js';

/**
 * What the thread can be asked for: synchronous functions over the database, by the contract that they belong to. `now`: the time of the call,
 * milliseconds since the epoch. `maxContextBytes`: the most that one read may bring.
 */
function groupsOf(database: DatabaseSync, now: () => number, maxContextBytes: number) {
  const jobs = sqliteJobs(database);
  const log = sqliteLog(database, now);
  return {
    responses: sqliteResponses(database, now, maxContextBytes, log),
    tombstones: sqliteTombstones(database, now),
    runs: sqliteRuns(database, now, maxContextBytes, log, jobs),
    graph: sqliteGraph(database, now),
    sessions: sqliteSessions(database, now),
    conversations: sqliteConversations(database, now, maxContextBytes),
    secrets: sqliteSecrets(database),
    claims: sqliteClaims(database, now),
    log,
    jobs,
    transfer: sqliteTransfer(database, log),
    usage: sqliteUsage(database),
    ...sqliteFiles(database, now),
    vectors: sqliteVectors(database),
    vectorStores: sqliteVectorStores(database, now),
    check: checkOperations(database),
  };
}

/** The groups. */
export type Groups = ReturnType<typeof groupsOf>;

/** The operations of the thread, named by their group and themselves; the types of calls and replies follow from them. */
export function operationsOf(database: DatabaseSync, now: () => number, maxContextBytes: number) {
  return named(groupsOf(database, now, maxContextBytes));
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
