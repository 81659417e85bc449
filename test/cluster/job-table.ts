import { PgBoss } from 'pg-boss';

import type { TestDatabase } from '../support/postgres/test-database.js';

const AGED = "state = 'active' AND heartbeat_on < now() - interval '1 hour'";

/**
 * Takes all running jobs away from the processes that hold them, as if these had died long ago: their signs of life
 * are aged, and the queue's own supervision finds them; their locks on sessions expire. Other processes have them at once.
 */
export async function loseWorkers(database: TestDatabase): Promise<void> {
  const boss = new PgBoss({
    connectionString: database.url,
    schema: 'antiphon_jobs',
    max: 1,
    ...{ supervise: false, schedule: false, migrate: false, registerInstance: false },
  });
  boss.on('error', () => undefined);
  await boss.start();
  await database.query(
    "UPDATE antiphon_jobs.job SET heartbeat_on = heartbeat_on - interval '1 day' WHERE state = 'active'",
  );
  await database.query("UPDATE antiphon.session_locks SET expires_at = clock_timestamp() - interval '1 second'");
  // A replica may supervise at the same time, in which case this one skips its turn.
  while ((await database.query(`SELECT FROM antiphon_jobs.job WHERE ${AGED}`)).length > 0) {
    await database.query('UPDATE antiphon_jobs.queue SET monitor_on = NULL, monitor_claim_on = NULL');
    await boss.supervise();
  }
  await boss.stop({ graceful: false });
  await retryAtOnce(database);
}

/** Ends the pauses before jobs are delivered again. */
async function retryAtOnce(database: TestDatabase): Promise<void> {
  await database.query("UPDATE antiphon_jobs.job SET start_after = created_on WHERE state = 'retry'");
  await database.query("SELECT pg_notify('antiphon_jobs', '')");
}

/** How many rows there are for background responses, in all tables. */
export async function countLeftovers(database: TestDatabase): Promise<Readonly<Record<string, unknown>> | undefined> {
  const tables = ['responses', 'items', 'session_responses', 'background_runs', 'event_log'];
  const counts = [...tables.map((table) => `antiphon.${table}`), 'antiphon_jobs.job'].map(
    (table) => `(SELECT count(*)::integer FROM ${table}) AS "${table.split('.')[1] ?? ''}"`,
  );
  const [row] = await database.query(`SELECT ${counts.join(', ')}`);
  return row;
}

/** What `countLeftovers` gives when nothing is left. */
export const NOTHING_LEFT = {
  ...{ responses: 0, items: 0, session_responses: 0, background_runs: 0, event_log: 0 },
  job: 0,
};
