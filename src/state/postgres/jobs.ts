import type { Clock } from '../../time/index.js';
import { DatabaseJobQueue } from '../database-queue.js';
import type { JobReference, NewJob, QueueWorker } from '../job-queue.js';
import type { RunNotices } from '../notices.js';
import { adHoc, prepared, type RunStatement } from '../sql/statement.js';
import { NOTIFY_OF_JOBS } from './channels.js';
import type { Database } from './database.js';
import { JobEngine } from './job-engine.js';
import { PostgresQueueWorker } from './queue-worker.js';

/** Queues in PostgreSQL: pg-boss, without its pollers. */
export class PostgresJobQueue extends DatabaseJobQueue {
  private readonly engine: JobEngine;

  constructor(database: Database, notices: RunNotices, clock: Clock) {
    super(notices, clock);
    this.engine = new JobEngine(database, clock);
  }

  /** After the schema is up to date. Throws StateStartError; an unavailable database is waited for in the background. */
  start(): Promise<void> {
    return this.engine.start();
  }

  async stop(): Promise<void> {
    this.pause();
    await this.engine.stop();
  }

  /** Adds jobs within a transaction: it takes effect with its commit. Throws StoreUnavailableError. */
  async enqueue(run: RunStatement, jobs: readonly NewJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const boss = this.engine.ready;
    for (const [queue, group] of Map.groupBy(jobs, (job) => job.queue)) {
      // As text: jsonb accepts no NUL and no unpaired surrogates.
      const rows = group.map(({ id, data }) => ({
        ...(id === undefined ? {} : { id }),
        data: { body: JSON.stringify(data) },
      }));
      // The text is the same each time: planning it costs more than running it.
      const executeSql = async (text: string, values: readonly unknown[] = []): Promise<{ rows: unknown[] }> => ({
        rows: [...(await run(prepared(`enqueue_${queue}`, text), values))],
      });
      await boss.insert(queue, rows, { db: { executeSql } });
    }
    await run(NOTIFY_OF_JOBS, []);
  }

  /** Removes a job within a transaction, also one that is delivered: its signal aborts. */
  async remove(run: RunStatement, { queue, id }: JobReference): Promise<void> {
    const executeSql = async (text: string, values: readonly unknown[] = []): Promise<{ rows: unknown[] }> => ({
      rows: [...(await run(adHoc(text), values))],
    });
    await this.engine.ready.deleteJob(queue, id, { db: { executeSql } });
  }

  override work(...[queue, options, handler]: Parameters<DatabaseJobQueue['work']>): Promise<QueueWorker> {
    const { engine, clock } = this;
    return this.begin(new PostgresQueueWorker({ engine, clock, queue, options, handler }), engine.isReady);
  }
}
