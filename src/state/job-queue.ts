/** The queues of the service: background turns, and the webhooks that announce their ends. */
export type QueueName = 'turns' | 'webhooks';

/** A job in a queue. */
export interface JobReference {
  readonly queue: QueueName;
  /** A UUID. */
  readonly id: string;
}

/** A job to enqueue. */
export interface NewJob {
  readonly queue: QueueName;
  /** A UUID for a job that may be removed. */
  readonly id?: string;
  /** Plain data. */
  readonly data: object;
}

/** How damage in a job is named. */
export function jobRecord({ queue, id }: JobReference): string {
  return `the job ${id} of the queue ${queue}`;
}

/** A job that is delivered to this process. */
export interface Job {
  readonly id: string;
  readonly data: unknown;
  /** From 1; greater with each delivery of the same job, on all replicas: it fences off earlier deliveries. */
  readonly attempt: number;
  /** Aborts when the job belongs to this process no longer: another one may have it already. */
  readonly signal: AbortSignal;
}

/** How the jobs of a queue are delivered; the same on all replicas. */
export interface QueueOptions {
  /** After a process died, its jobs are delivered to another one within this time, seconds. */
  readonly leaseSeconds: number;
  /** Longest time that one delivery may take, seconds. */
  readonly maxRunSeconds: number;
  /** Pause before a failed job is delivered again, seconds. */
  readonly retryDelaySeconds: number;
  /** The longest pause; each is about twice the one before. Without it all pauses are the same. */
  readonly longestRetryDelaySeconds?: number;
  /** Most deliveries of a job; afterwards it is dropped. */
  readonly maxAttempts: number;
}

/** The pause after a failed delivery, seconds. `attempts`: how often the job was delivered. */
export function pauseAfter(attempts: number, { retryDelaySeconds, longestRetryDelaySeconds }: QueueOptions): number {
  if (longestRetryDelaySeconds === undefined) return retryDelaySeconds;
  return Math.min(retryDelaySeconds * 2 ** (attempts - 1), longestRetryDelaySeconds);
}

/** Takes jobs from a queue. */
export interface QueueWorker {
  /** Takes no more jobs. Those that wait stay for other processes. */
  pause(): void;

  /** Takes no more jobs, and resolves when the handlers of this process have ended. */
  stop(): Promise<void>;
}

/**
 * Queues of jobs, each delivered at least once, oldest first, to one process at a time. Jobs are enqueued by
 * BackgroundRuns, together with the change that they belong to.
 */
export abstract class JobQueue {
  /** Whether jobs outlive the process. */
  abstract readonly isDurable: boolean;

  /**
   * Delivers jobs to a handler, up to `concurrency` at once; 0 prepares the queue for other processes. A job is done
   * when its handler resolves, and is delivered again after a pause when it rejects.
   */
  abstract work(
    queue: QueueName,
    options: QueueOptions & { readonly concurrency: number },
    handler: (job: Job) => Promise<void>,
  ): Promise<QueueWorker>;
}
