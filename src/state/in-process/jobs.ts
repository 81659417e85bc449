import { randomUUID } from 'node:crypto';

import { Logger } from '@nestjs/common';

import type { Clock } from '../../time/index.js';
import { OutageLog } from '../../logging/index.js';
import {
  type Job,
  JobQueue,
  type JobReference,
  type NewJob,
  pauseAfter,
  type QueueName,
  type QueueOptions,
  type QueueWorker,
} from '../job-queue.js';
import { JobHandedBackError } from '../errors.js';

/** Queues of this process; the store bounds them. With a journal, the next process goes on with what is not done. */
export class InProcessJobQueue extends JobQueue {
  override readonly isDurable: boolean;
  private readonly queues = new Map<QueueName, WaitingJobs>();
  private count = 0;

  constructor(
    private readonly clock: Clock,
    private readonly journal: JobJournal | null = null,
  ) {
    super();
    this.isDurable = journal !== null;
  }

  /** Enqueues what the process before has left. Throws StoreUnavailableError. */
  async start(): Promise<void> {
    for (const { queue, ...job } of (await this.journal?.load()) ?? []) this.enqueue(queue, job);
  }

  /** Enqueues jobs, which are in the journal already. Their handlers are called later, never by this call. */
  add(jobs: readonly NewJob[]): void {
    for (const { queue, id = randomUUID(), data } of jobs) this.enqueue(queue, { id, data, attempts: 0 });
  }

  /** Removes a job that waits. */
  remove({ queue, id }: JobReference): void {
    this.queue(queue).remove(id);
  }

  /** The jobs that wait: those that are delivered, or pause before they are delivered again, are not among them. */
  *waiting(): Iterable<NewJob> {
    for (const [queue, jobs] of this.queues) {
      for (const { id, data } of jobs) yield { queue, id, data: data as object };
    }
  }

  override async work(...[queue, options, handler]: Parameters<JobQueue['work']>): Promise<QueueWorker> {
    const waiting = this.queue(queue);
    const { clock, journal } = this;
    const worker = new InProcessQueueWorker({ waiting, journal, clock, options, handler });
    waiting.takers.add(worker);
    worker.wake();
    return worker;
  }

  private enqueue(queue: QueueName, job: { readonly id: string; readonly data: unknown; attempts: number }): void {
    this.count += 1;
    this.queue(queue).add({ ...job, number: this.count });
  }

  private queue(name: QueueName): WaitingJobs {
    const queue = this.queues.get(name) ?? new WaitingJobs();
    this.queues.set(name, queue);
    return queue;
  }
}

/** A job that is not done, as it outlives the process. */
export interface KeptJob {
  readonly queue: QueueName;
  readonly id: string;
  readonly data: unknown;
  /** Deliveries so far. */
  readonly attempts: number;
}

/**
 * Keeps the jobs of a process until it starts again. A job enters it together with the change that it belongs to. Methods
 * throw StoreUnavailableError.
 */
export interface JobJournal {
  /** The jobs that are not done, oldest first. */
  load(): Promise<readonly KeptJob[]>;

  /** A job is about to be delivered; what its handler stores comes after this. */
  delivered(id: string, attempts: number): Promise<void>;

  /** A job is done, or is not delivered again. */
  ended(id: string): Promise<void>;
}

/** A job, with how often it was delivered. */
export interface WaitingJob {
  readonly id: string;
  readonly data: unknown;
  /** The place of the job in the queue, also when it is delivered again. */
  readonly number: number;
  attempts: number;
}

/** Jobs that wait, oldest first. */
class WaitingJobs {
  /** Workers that take the jobs. */
  readonly takers = new Set<{ wake(): void }>();
  private readonly jobs: WaitingJob[] = [];

  [Symbol.iterator](): Iterator<WaitingJob> {
    return this.jobs.values();
  }

  add(job: WaitingJob): void {
    // Only a job that is delivered again has younger ones behind it.
    let index = this.jobs.length;
    while (index > 0 && (this.jobs[index - 1]?.number ?? 0) > job.number) index -= 1;
    this.jobs.splice(index, 0, job);
    for (const taker of this.takers) taker.wake();
  }

  remove(id: string): void {
    const index = this.jobs.findIndex((job) => job.id === id);
    if (index >= 0) this.jobs.splice(index, 1);
  }

  take(): WaitingJob | undefined {
    return this.jobs.shift();
  }
}

/** What a worker needs. */
interface InProcessWorkerParts {
  readonly waiting: WaitingJobs;
  readonly journal: JobJournal | null;
  readonly clock: Clock;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** Takes the jobs of a queue in this process. */
class InProcessQueueWorker implements QueueWorker {
  private readonly failures = new OutageLog(new Logger('JobQueue'));
  private readonly running = new Set<Promise<void>>();
  private isPaused = false;
  private isWoken = false;

  constructor(private readonly parts: InProcessWorkerParts) {}

  /** There may be jobs that wait. */
  wake(): void {
    if (this.isWoken) return;
    this.isWoken = true;
    queueMicrotask(() => {
      this.isWoken = false;
      this.takeAll();
    });
  }

  pause(): void {
    this.isPaused = true;
    this.parts.waiting.takers.delete(this);
  }

  async stop(): Promise<void> {
    this.pause();
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private takeAll(): void {
    const { waiting, options } = this.parts;
    while (!this.isPaused && this.running.size < options.concurrency) {
      const job = waiting.take();
      if (job === undefined) return;
      const running = this.deliver(job).then(() => {
        this.running.delete(running);
        this.wake();
      });
      this.running.add(running);
    }
  }

  /** Resolves when the handler has ended; never rejects. */
  private async deliver(job: WaitingJob): Promise<void> {
    const { journal, clock, options, handler } = this.parts;
    const expired = new AbortController();
    // Another delivery follows, and what this one comes to does not count.
    const limit = clock.schedule(options.maxRunSeconds * 1000, () => {
      expired.abort();
      this.deliverAgain(job);
    });
    job.attempts += 1;
    // Not awaited: the journal has it before anything that the handler stores.
    this.note(journal?.delivered(job.id, job.attempts));
    try {
      await handler({ id: job.id, data: job.data, attempt: job.attempts, signal: expired.signal });
      if (!expired.signal.aborted) this.note(journal?.ended(job.id));
    } catch (error) {
      if (!(error instanceof JobHandedBackError)) this.failures.warn(`job ${job.id} failed`, String(error));
      if (!expired.signal.aborted) this.deliverAgain(job);
    } finally {
      limit.cancel();
    }
  }

  private deliverAgain(job: WaitingJob): void {
    const { waiting, journal, clock, options } = this.parts;
    if (job.attempts < options.maxAttempts) {
      clock.schedule(pauseAfter(job.attempts, options) * 1000, () => waiting.add(job));
    } else {
      this.note(journal?.ended(job.id));
    }
  }

  /** What the journal does not take has a job delivered once more after a restart, at worst. */
  private note(noted: Promise<void> | undefined): void {
    noted?.catch((error: unknown) => this.failures.warn('a job could not be noted', String(error)));
  }
}
