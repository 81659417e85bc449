import { Logger } from '@nestjs/common';

import type { Tenant } from '../../src/access/index.js';
import { Environment } from '../../src/config/index.js';
import type { ResponseRecord } from '../../src/state/index.js';
import type { DatabaseSettings } from '../../src/state/postgres/connection-options.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { FakeClock } from '../../src/testing/index.js';
import type { Clock } from '../../src/time/index.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import type { OpenedBackend } from './backends.js';

/** A started backend over a database of its own. */
export interface OpenedPostgres extends OpenedBackend {
  readonly backend: PostgresBackend;
  readonly database: TestDatabase;
  /** Starts another replica over the same database. */
  replica(overrides?: Partial<DatabaseSettings>, clock?: Clock): Promise<PostgresBackend>;
}

/** How a database is reached, with everything else as it is by default. */
export function settingsFor(url: string, overrides: Partial<DatabaseSettings> = {}): DatabaseSettings {
  return Object.assign(new Environment(), { DATABASE_URL: url }, overrides);
}

/** Starts a backend over an empty database; both go when it is disposed, and all replicas with them. */
export async function openPostgres(): Promise<OpenedPostgres> {
  Logger.overrideLogger(false);
  const database = await createTestDatabase();
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
  return {
    backend: await start(),
    clock,
    database,
    replica: start,
    saveMany: (tenant, records) => insertResponses(database, tenant, records),
    content: () => countRows(database, 'responses', 'items'),
    expireLeases: async () => {
      // By the clock of the database, which nobody can move.
      await database.query("UPDATE antiphon.session_locks SET expires_at = clock_timestamp() - interval '1 second'");
    },
    close,
    [Symbol.asyncDispose]: close,
  };
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
  ...tables: readonly ('responses' | 'items' | 'session_responses' | 'session_locks')[]
): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM antiphon.${table})`);
  const [row] = await database.query(`SELECT (${counts.join(' + ')})::integer AS count`);
  return Number(row?.['count']);
}
