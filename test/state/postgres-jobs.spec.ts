import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { NewJob } from '../../src/state/index.js';
import type { PostgresBackend } from '../../src/state/postgres/index.js';
import { aborted, Deliveries, OPTIONS } from '../../src/testing/state/deliveries.js';
import { SystemClock } from '../../src/time/index.js';
import { startCluster } from '../support/postgres/cluster.js';
import { databaseOf, enqueue, openPostgres, type OpenedPostgres } from './postgres-fixture.js';

const job = (data: unknown): NewJob => ({ queue: 'turns', data: { data } });

describe('jobs in PostgreSQL', () => {
  let opened: OpenedPostgres;
  let workers: Deliveries[];

  beforeEach(async () => {
    opened = await openPostgres();
    workers = [];
  });
  afterEach(async () => {
    for (const worker of workers) await worker.stop();
    await opened.close();
  });

  const work = async ({ jobs }: PostgresBackend, options?: Partial<typeof OPTIONS>): Promise<Deliveries> => {
    const worker = await Deliveries.of(jobs, options);
    workers.push(worker);
    return worker;
  };

  it('jobs in PostgreSQL are not there when their transaction is rolled back', async () => {
    const worker = await work(opened.backend);
    const undone = databaseOf(opened.backend).transaction(async (run) => {
      await opened.backend.jobs.enqueue(run, [job('undone')]);
      throw new Error('the test says so');
    });
    await expect(undone).rejects.toThrow('the test says so');
    await opened.enqueue(job('kept'));
    expect((await worker.at(0)).data).toEqual({ data: 'kept' });
    expect(worker.all).toHaveLength(1);
  });

  it('jobs leave nothing behind when they are done', async () => {
    const worker = await work(opened.backend);
    await opened.enqueue(job('a'));
    (await worker.at(0)).done();
    await worker.stop();
    expect(await opened.database.query('SELECT FROM antiphon_jobs.job')).toEqual([]);
  });

  it('a job in PostgreSQL is delivered once, whichever replica has room', async () => {
    const other = await opened.replica();
    const [one, two] = [await work(opened.backend, { concurrency: 30 }), await work(other, { concurrency: 30 })];
    for (let index = 0; index < 60; index += 1) await enqueue(index % 2 === 0 ? opened.backend : other, job(index));
    await Promise.all([one.at(29), two.at(29)]);
    const delivered = [...one.data, ...two.data].map((data) => (data as { readonly data: number }).data);
    expect(delivered.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  it('jobs go to another process when theirs died; one that was only slow cannot end them any more', async () => {
    const slow = await work(opened.backend);
    await opened.enqueue(job('a'));
    const first = await slow.at(0);
    slow.worker.pause();
    const heir = await work(await opened.replica());
    await opened.loseWorkers();
    await aborted(first.signal);
    const second = await heir.at(0);
    expect(second).toMatchObject({ data: { data: 'a' }, attempt: 2, signal: { aborted: false } });
    first.done();
    await slow.worker.stop();
    await opened.untilHeld(1);
    second.fail();
    await opened.untilHeld(0);
    await opened.ageJobs(1);
    expect(await heir.at(1)).toMatchObject({ data: { data: 'a' }, attempt: 3 });
  });

  it('jobs end an earlier delivery when they come to the same process again', async () => {
    const worker = await work(opened.backend);
    await opened.enqueue(job('a'));
    const first = await worker.at(0);
    await opened.database.query("UPDATE antiphon_jobs.job SET state = 'retry', start_after = created_on");
    await opened.enqueue(job('b'));
    await worker.at(2);
    expect(first.signal.aborted).toBe(true);
  });

  it('jobs stay with a process that shows that it is alive', async () => {
    const worker = await work(opened.backend);
    await opened.enqueue(job('a'));
    const running = await worker.at(0);
    const age = "UPDATE antiphon_jobs.job SET heartbeat_on = heartbeat_on - interval '19 seconds'";
    const isOld = "SELECT FROM antiphon_jobs.job WHERE heartbeat_on < now() - interval '10 seconds'";
    for (let time = 0; time < 3; time += 1) {
      await opened.database.query(age);
      opened.clock.advance(6000);
      while ((await opened.database.query(isOld)).length > 0);
    }
    await opened.ageJobs(1);
    expect(running.signal.aborted).toBe(false);
    expect(worker.all).toHaveLength(1);
  });

  it('a job in PostgreSQL is found without a notice', async () => {
    const worker = await work(opened.backend);
    const without = databaseOf(opened.backend).transaction((run) =>
      opened.backend.jobs.enqueue(
        (statement, values) => {
          if (statement.text.includes('pg_notify')) return Promise.resolve([]);
          return run(statement, values);
        },
        [job('a')],
      ),
    );
    await without;
    opened.clock.advance(2000);
    expect((await worker.at(0)).data).toEqual({ data: 'a' });
  });
});

describe('jobs in a PostgreSQL that crashes', () => {
  it('jobs wait for a PostgreSQL that crashes: none is lost', async () => {
    await using cluster = await startCluster();
    await using opened = await openPostgres(cluster.url());
    const backend = await opened.replica({}, new SystemClock());
    const seen = new Set<number>();
    const half = Promise.withResolvers<undefined>();
    const all = Promise.withResolvers<undefined>();
    const back = Promise.withResolvers<undefined>();
    const worker = await backend.jobs.work('turns', OPTIONS, async ({ data }) => {
      seen.add((data as { readonly data: number }).data);
      if (seen.size === 50) half.resolve(undefined);
      if (seen.size >= 50) await back.promise;
      if (seen.size === 100) all.resolve(undefined);
    });
    for (let index = 0; index < 100; index += 1) await enqueue(backend, job(index));
    await half.promise;
    await cluster.crash();
    // They end while nothing can be written down, and are not delivered again for that.
    back.resolve(undefined);
    await cluster.resume();
    await all.promise;
    await worker.stop();
    expect(seen.size).toBe(100);
    expect(await opened.database.query('SELECT FROM antiphon_jobs.job')).toEqual([]);
  });
});
