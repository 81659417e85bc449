import { Logger } from '@nestjs/common';

import type { Tenant } from '../../src/access/index.js';
import { Environment } from '../../src/config/index.js';
import type { NewJob, ResponseRecord } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import type { Database } from '../../src/state/postgres/database.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import type { JobEngine } from '../../src/state/postgres/job-engine.js';
import { FakeClock } from '../../src/testing/index.js';
import type { Clock } from '../../src/time/index.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { STATE_PATIENCE_MS } from '../support/state-backends.js';
import type { OpenedBackend } from './backends.js';

/** A started backend over a database of its own. */
export interface OpenedPostgres extends OpenedBackend {
  readonly backend: PostgresBackend;
  readonly database: TestDatabase;
  /** Lets the windows of all limits end. */
  endWindows(): Promise<void>;
  /** Starts another replica over the same database. */
  replica(overrides?: Partial<DatabaseSettings>, clock?: Clock): Promise<PostgresBackend>;
  /** Takes all jobs away from the processes that hold them, as if these had died long ago. */
  loseWorkers(): Promise<void>;
}

/** More than the intervals at which a worker looks for jobs and shows that it is alive, ms. */
const SHORT_MS = 6000;

/** How a database is reached, with time to answer, and everything else as it is by default. */
export function settingsFor(url: string, overrides: Partial<DatabaseSettings> = {}): DatabaseSettings {
  const patience = {
    DATABASE_CONNECT_TIMEOUT_MS: STATE_PATIENCE_MS,
    DATABASE_STATEMENT_TIMEOUT_MS: STATE_PATIENCE_MS,
  };
  return Object.assign(new Environment(), { DATABASE_URL: url, ...patience }, overrides);
}

/**
 * Starts a backend over an empty database, on the server of the test run or on another one; both go when it is
 * disposed, and all replicas with them.
 */
export async function openPostgres(serverUrl?: string): Promise<OpenedPostgres> {
  Logger.overrideLogger(false);
  const database = serverUrl === undefined ? await createTestDatabase() : await createEmptyDatabase(serverUrl);
  const clock = new FakeClock();
  const backends: PostgresBackend[] = [];
  const start = async (overrides: Partial<DatabaseSettings> = {}, time: Clock = clock): Promise<PostgresBackend> => {
    const backend = new PostgresBackend(settingsFor(database.url, overrides), time);
    await backend.start();
    backends.push(backend);
    return backend;
  };
  const close = async (): Promise<void> => {
    await Promise.all(backends.map((backend) => backend.stop()));
    await database.drop();
  };
  const backend = await start();
  /** Moves the times of jobs back, by the clock of the database, and looks for jobs that have become due. */
  const supervise = async (changes: string): Promise<void> => {
    await database.query(`UPDATE antiphon_jobs.job SET ${changes}`);
    await database.query('UPDATE antiphon_jobs.queue SET monitor_on = NULL, monitor_claim_on = NULL');
    await engineOf(backend).ready.supervise();
    clock.advance(SHORT_MS);
  };
  return {
    backend,
    clock,
    enqueue: (...jobs) => enqueue(backend, ...jobs),
    untilHeld: async (count) => {
      const held = "SELECT FROM antiphon_jobs.job WHERE state = 'active'";
      while ((await database.query(held)).length !== count);
    },
    ageJobs: (seconds) => {
      const age = `interval '${seconds} seconds'`;
      return supervise(`start_after = start_after - ${age}, started_on = started_on - ${age}`);
    },
    loseWorkers: async () => {
      await supervise("heartbeat_on = heartbeat_on - interval '1 day'");
      await supervise('start_after = created_on');
    },
    database,
    replica: start,
    saveMany: (tenant, records) => insertResponses(database, tenant, records),
    content: () =>
      countRows(database, 'responses', 'items', 'background_runs', 'event_log', 'conversations', 'conversation_items'),
    expireLeases: async () => {
      // By the clock of the database, which nobody can move.
      await database.query("UPDATE antiphon.session_locks SET expires_at = clock_timestamp() - interval '1 second'");
    },
    endWindows: async () => {
      await database.query('UPDATE antiphon.limit_counters SET expires_at = clock_timestamp()');
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Enqueues jobs in a transaction of their own. */
export async function enqueue(backend: PostgresBackend, ...jobs: readonly NewJob[]): Promise<void> {
  await databaseOf(backend).transaction((run) => backend.jobs.enqueue(run, jobs));
}

/** The private parts that only a test wants. */
export function databaseOf(backend: PostgresBackend): Database {
  return (backend as unknown as { readonly database: Database }).database;
}

function engineOf({ jobs }: PostgresBackend): JobEngine {
  return (jobs as unknown as { readonly engine: JobEngine }).engine;
}

/** What a role needs that serves and does not migrate, as docs/state.md says. */
export async function grantService(database: TestDatabase, role: string): Promise<void> {
  for (const schema of ['antiphon', 'antiphon_jobs']) {
    await database.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    await database.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`);
  }
}

/** Saves responses in one statement, without their items. */
export async function insertResponses(
  database: TestDatabase,
  tenant: Tenant,
  records: readonly ResponseRecord[],
): Promise<void> {
  const rows = records.map(({ response, parentId, sessionId, expiresAt }) => ({
    ...{ id: response.id, parent_id: parentId, session_id: sessionId, status: response.status, model: response.model },
    created_at: new Date(response.created_at * 1000),
    expires_at: new Date(expiresAt),
    body: JSON.stringify({ ...response, output: [] }),
  }));
  await database.query(
    `WITH saved AS (
      INSERT INTO antiphon.responses
        (owner, id, parent_id, session_id, status, model, created_at, expires_at, size, items_size, body)
      SELECT $1, id, parent_id, session_id, status, model, created_at, expires_at, octet_length(body), 0, body
      FROM jsonb_to_recordset($2) AS given (id text, parent_id text, session_id text, status text, model text,
        created_at timestamptz, expires_at timestamptz, body text)
      RETURNING owner, session_id, created_at, id
    ) INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id) SELECT * FROM saved`,
    [tenant, JSON.stringify(rows)],
  );
}

/** The rows of some of the tables, together. */
export async function countRows(
  database: TestDatabase,
  ...tables: readonly (
    | 'responses'
    | 'items'
    | 'session_responses'
    | 'session_locks'
    | 'background_runs'
    | 'event_log'
    | 'conversations'
    | 'conversation_items'
  )[]
): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM antiphon.${table})`);
  const [row] = await database.query(`SELECT (${counts.join(' + ')})::integer AS count`);
  return Number(row?.['count']);
}
