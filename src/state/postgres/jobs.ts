import type { Clock } from '../../time/index.js';
import {
  type Job,
  JobQueue,
  type JobReference,
  type NewJob,
  type QueueName,
  type QueueOptions,
  type QueueWorker,
} from '../job-queue.js';
import type { RunNotices } from '../notices.js';
import { adHoc, prepared } from '../sql/statement.js';
import { NOTIFY_OF_JOBS } from './channels.js';
import type { Database, RunStatement } from './database.js';
import { JobEngine } from './job-engine.js';
import { PostgresQueueWorker } from './queue-worker.js';

/** How long a start waits for a queue to be prepared, ms. */
const PREPARING_MS = 2000;

/** Queues in the database, for all replicas: pg-boss, without its pollers. Notices wake the workers instead. */
export class PostgresJobQueue extends JobQueue {
  override readonly isDurable = true;
  private readonly engine: JobEngine;
  private readonly workers = new Set<PostgresQueueWorker>();

  constructor(
    database: Database,
    private readonly notices: RunNotices,
    private readonly clock: Clock,
  ) {
    super();
    this.engine = new JobEngine(database, clock);
    const wake = (): void => this.workers.forEach((worker) => worker.wake());
    notices.subscribe({ enqueued: wake, resumed: wake });
  }

  /** After the schema is up to date. Throws StateStartError; an unavailable database is waited for in the background. */
  start(): Promise<void> {
    return this.engine.start();
  }

  async stop(): Promise<void> {
    for (const worker of this.workers) worker.pause();
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

  override async work(
    queue: QueueName,
    options: QueueOptions & { readonly concurrency: number },
    handler: (job: Job) => Promise<void>,
  ): Promise<QueueWorker> {
    const worker = new PostgresQueueWorker({ engine: this.engine, clock: this.clock, queue, options, handler });
    this.workers.add(worker);
    const begun = worker.begin();
    if (this.engine.isReady) await this.clock.within(begun, PREPARING_MS);
    return worker;
  }
}
