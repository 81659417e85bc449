import { randomUUID } from 'node:crypto';

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
import { InProcessQueueWorker } from './queue-worker.js';
import type { JobJournal } from './job-journal.js';
import { WaitingJobs } from './waiting-jobs.js';

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

  override async work(
    queue: QueueName,
    options: QueueOptions & { readonly concurrency: number },
    handler: (job: Job) => Promise<void>,
  ): Promise<QueueWorker> {
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
