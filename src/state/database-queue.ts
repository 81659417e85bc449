import type { Clock } from '../time/index.js';
import { type Job, JobQueue, type QueueName, type QueueOptions, type QueueWorker } from './job-queue.js';
import { JobSlots, type JobSlotsParts } from './job-slots.js';
import type { RunNotices } from './notices.js';

/** How long a start waits for a queue to be prepared, ms. */
const PREPARING_MS = 2000;

/** Queues in a database, for all replicas. Notices wake the workers of this process. */
export abstract class DatabaseJobQueue extends JobQueue {
  override readonly isDurable = true;
  private readonly workers = new Set<DatabaseQueueWorker>();

  constructor(
    notices: RunNotices,
    protected readonly clock: Clock,
  ) {
    super();
    const wake = (): void => this.workers.forEach((worker) => worker.wake());
    notices.subscribe({ enqueued: wake, resumed: wake });
  }

  /** Takes no more jobs. */
  pause(): void {
    for (const worker of this.workers) worker.pause();
  }

  /** Has a worker begin; one that `isReady` to is waited for, but not for long. */
  protected async begin(worker: DatabaseQueueWorker, isReady: boolean): Promise<QueueWorker> {
    this.workers.add(worker);
    const begun = worker.begin();
    if (isReady) await this.clock.within(begun, PREPARING_MS);
    return worker;
  }
}

type Engine = JobSlotsParts['engine'];

/** What a worker needs. */
export interface QueueWorkerParts<JobEngine extends Engine = Engine> {
  readonly engine: JobEngine;
  readonly clock: Clock;
  readonly queue: QueueName;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** Takes the jobs of a queue in a database. */
export abstract class DatabaseQueueWorker implements QueueWorker {
  protected readonly slots: JobSlots;

  constructor({ engine, clock, queue, options }: QueueWorkerParts) {
    this.slots = new JobSlots({ engine, clock, queue, concurrency: options.concurrency });
  }

  /** Prepares the queue, and takes jobs from then on. Resolves when the database has permitted it; never rejects. */
  abstract begin(): Promise<void>;

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
}

/** A delivery of a job that this process holds. */
export interface HeldJob {
  readonly id: string;
  /** Aborted when this process holds it no longer. */
  readonly lost: AbortController;
}

/** The jobs of a queue that this process holds. */
export class HeldJobs<Held extends HeldJob> {
  private readonly jobs = new Map<string, Held>();

  /** `touch` tells the database that this process is alive, and returns which jobs it still holds. */
  constructor(private readonly touch: (held: readonly Held[]) => Promise<(id: string) => boolean>) {}

  /** A new delivery of a job ends an earlier one. */
  add(held: Held): void {
    this.jobs.get(held.id)?.lost.abort();
    this.jobs.set(held.id, held);
  }

  remove(held: Held): void {
    if (this.jobs.get(held.id) === held) this.jobs.delete(held.id);
  }

  /** Shows that this process is alive, and aborts the jobs that belong to it no longer. */
  async keep(): Promise<void> {
    const touched = [...this.jobs.values()];
    if (touched.length === 0) return;
    const isHeld = await this.touch(touched);
    for (const { id, lost } of touched) if (!isHeld(id)) lost.abort();
  }
}
