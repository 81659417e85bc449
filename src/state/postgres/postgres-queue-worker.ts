import type { Job as BossJob, PgBoss } from 'pg-boss';

import type { Clock } from '../../time/index.js';
import type { Job, QueueName, QueueOptions, QueueWorker } from '../job-queue.js';
import { JobSlots } from '../job-slots.js';
import { type HeldJob, HeldJobs } from './held-jobs.js';
import type { JobEngine } from './job-engine.js';
import { SHORTEST_HEARTBEAT, toBossOptions } from './queue-options.js';

/**
 * How often a process shows that it is alive, ms: by the shortest time after which it can count as dead, because jobs keep
 * the lease that they were enqueued with.
 */
const SIGN_OF_LIFE_MS = (SHORTEST_HEARTBEAT * 1000) / 4;

/** What a worker needs. */
export interface QueueWorkerParts {
  readonly engine: JobEngine;
  readonly clock: Clock;
  readonly queue: QueueName;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** The data of a job as it is stored: JSON. */
interface StoredData {
  readonly body: string;
}

/** Takes the jobs of a queue, as many with one statement as it has room for, and shows that this process is alive. */
export class PostgresQueueWorker implements QueueWorker {
  private readonly held: HeldJobs;
  private readonly slots: JobSlots;

  constructor(private readonly parts: QueueWorkerParts) {
    const { engine, clock, queue, options } = parts;
    this.held = new HeldJobs(queue);
    this.slots = new JobSlots({ engine, clock, queue, concurrency: options.concurrency });
  }

  /** Prepares the queue, and takes jobs from then on. Resolves when the database has permitted it; never rejects. */
  async begin(): Promise<void> {
    const { engine, queue, options } = this.parts;
    const boss = await engine.whenReady;
    await this.slots.prepare(() => boss.updateQueue(queue, toBossOptions(options)));
    if (this.slots.isPaused || options.concurrency === 0) return;
    this.slots.every(SIGN_OF_LIFE_MS, () => this.held.touch(engine.ready));
    this.slots.open((free) => this.fetch(engine.ready, free));
  }

  /** There may be jobs that wait. */
  wake(): void {
    this.slots.wake();
  }

  pause(): void {
    this.slots.pause();
  }

  stop(): Promise<void> {
    return this.slots.stop();
  }

  private async fetch(boss: PgBoss, free: number): Promise<boolean> {
    const jobs = await boss.fetch<StoredData>(this.parts.queue, { batchSize: free });
    for (const job of jobs) this.deliver(boss, job);
    return jobs.length === free;
  }

  private deliver(boss: PgBoss, job: BossJob<StoredData>): void {
    const { handler } = this.parts;
    const { data, retryCount } = job;
    const held = this.held.add(job);
    if (this.slots.isPaused) {
      // It paused while the job was fetched.
      this.settle(boss, held, false);
      return;
    }
    this.slots.run(
      async () => handler({ data: JSON.parse(data.body), attempt: retryCount + 1, signal: held.lost.signal }),
      (isDone) => this.settle(boss, held, isDone),
    );
  }

  /** Deletes a job, or has it delivered again after a pause; neither if it belongs to another process already. */
  private settle(boss: PgBoss, held: HeldJob, isDone: boolean): void {
    const { queue } = this.parts;
    const settle = (): Promise<unknown> => (isDone ? boss.deleteJob(queue, held.claim) : boss.fail(queue, held.claim));
    void this.slots.settle(settle).then(() => this.held.remove(held));
  }
}
