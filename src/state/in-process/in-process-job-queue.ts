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
import { WaitingJobs } from './waiting-jobs.js';
import { InProcessQueueWorker } from './in-process-queue-worker.js';

/** Queues of this process; the store bounds them. */
export class InProcessJobQueue extends JobQueue {
  override readonly isDurable = false;
  private readonly queues = new Map<QueueName, WaitingJobs>();
  private count = 0;

  constructor(private readonly clock: Clock) {
    super();
  }

  /** Enqueues jobs. Their handlers are called later, never by this call. */
  add(jobs: readonly NewJob[]): void {
    for (const { queue, id, data } of jobs) {
      this.count += 1;
      this.queue(queue).add({ id, data, number: this.count, attempts: 0 });
    }
  }

  /** Removes a job that waits. */
  remove({ queue, id }: JobReference): void {
    this.queue(queue).remove(id);
  }

  /** The jobs that wait: those that are delivered, or pause before they are delivered again, are not among them. */
  *waiting(): Iterable<NewJob> {
    for (const [queue, jobs] of this.queues) {
      for (const { id, data } of jobs) yield { queue, ...(id === undefined ? {} : { id }), data: data as object };
    }
  }

  override async work(
    queue: QueueName,
    options: QueueOptions & { readonly concurrency: number },
    handler: (job: Job) => Promise<void>,
  ): Promise<QueueWorker> {
    const waiting = this.queue(queue);
    const worker = new InProcessQueueWorker({ waiting, clock: this.clock, options, handler });
    waiting.takers.add(worker);
    worker.wake();
    return worker;
  }

  private queue(name: QueueName): WaitingJobs {
    const queue = this.queues.get(name) ?? new WaitingJobs();
    this.queues.set(name, queue);
    return queue;
  }
}
