import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type Run, RunLostError } from '../../src/state/index.js';
import { START as START_RUN } from '../../src/state/postgres/statements/runs.js';
import { newTenant } from '../../src/testing/state/records.js';
import { cancelledOf, deltas, endingOf, enqueue, launch, readAll } from '../../src/testing/state/runs.js';
import { databaseOf, openPostgres, type OpenedPostgres } from './postgres-fixture.js';

describe('attempts that meet in PostgreSQL', () => {
  let opened: OpenedPostgres;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openPostgres();
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  /** Resolves when a write waits for somebody else, or is done without having waited. */
  const untilWaiting = async (write: Promise<unknown>): Promise<void> => {
    const state = { isDone: false };
    void write.then(() => (state.isDone = true));
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while (!state.isDone && (await opened.database.query(waiting)).length === 0);
  };

  const WRITES: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
    'an append': (run) => opened.backend.log.append(run, deltas(3, 2)),
    'an end': (run) => opened.backend.runs.finish(run, endingOf(run.responseId, { at: 3 })),
  };

  it.each(Object.entries(WRITES))('%s waits for a later attempt that is starting, and is lost', async (_, write) => {
    const run = await launch(opened.backend, tenant, 'a');
    let written: Promise<unknown> = Promise.resolve();
    await databaseOf(opened.backend).transaction(async (statement) => {
      await statement(START_RUN, [tenant, 'a', new Date(opened.clock.now()), 2]);
      written = write(run).catch((error: unknown) => error);
      await untilWaiting(written);
    });
    expect(await written).toBeInstanceOf(RunLostError);
    expect((await readAll(opened.backend.log, run)).events).toHaveLength(3);
  });

  it('PostgreSQL lets one replica end what another one runs, and tells it', async () => {
    const other = await opened.replica();
    const run = await launch(opened.backend, tenant, 'a');
    const { promise: told, resolve } = Promise.withResolvers<readonly string[]>();
    opened.backend.runNotices.subscribe({ ended: resolve });
    await other.runs.conclude(tenant, 'a', () => cancelledOf('a', { at: 3 }), {});
    expect(await told).toEqual(['a']);
    await expect(opened.backend.log.append(run, deltas(3, 1))).rejects.toBeInstanceOf(RunLostError);
  });

  it('PostgreSQL takes the same end a second time, for a connection that broke', async () => {
    const run = await launch(opened.backend, tenant, 'a');
    const { responses, runs, log } = opened.backend;
    const ending = endingOf('a', { at: 3 });
    await runs.finish(run, ending);
    const stateOf = async (): Promise<unknown> => [await responses.get(tenant, 'a'), await readAll(log, run)];
    const before = await stateOf();
    await runs.finish(run, ending);
    expect(await stateOf()).toEqual(before);
    await expect(runs.finish(run, endingOf('a', { at: 3, status: 'failed' }))).rejects.toBeInstanceOf(RunLostError);
  });

  it('PostgreSQL keeps no job of a creation that fails in the middle of its transaction', async () => {
    const jobs = async (): Promise<number> => (await opened.database.query('SELECT FROM antiphon_jobs.job')).length;
    await enqueue(opened.backend.runs, tenant, 'a');
    const before = await jobs();
    await expect(enqueue(opened.backend.runs, tenant, 'a')).rejects.toThrow();
    expect(await jobs()).toBe(before);
  });
});
