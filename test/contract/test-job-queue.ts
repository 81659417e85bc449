import {
  type Job,
  JobQueue,
  type NewJob,
  type QueueName,
  type QueueOptions,
  type QueueWorker,
} from '../../src/index.js';

type Handler = (job: Job) => Promise<void>;

/** A queue that delivers a job when its test says so, as often as it says so. */
export class TestJobQueue extends JobQueue {
  override readonly isDurable = false;
  private readonly options = new Map<QueueName, QueueOptions & { readonly concurrency: number }>();
  private readonly handlers = new Map<QueueName, Handler>();
  private readonly running = new Map<QueueName, Set<Promise<void>>>();

  override async work(
    queue: QueueName,
    options: QueueOptions & { readonly concurrency: number },
    handler: Handler,
  ): Promise<QueueWorker> {
    this.options.set(queue, options);
    this.handlers.set(queue, handler);
    const pause = (): void => void this.handlers.delete(queue);
    const stop = async (): Promise<void> => {
      pause();
      await Promise.allSettled([...(this.running.get(queue) ?? [])]);
    };
    return { pause, stop };
  }

  /** How a queue is worked. Throws when nobody does. */
  optionsOf(queue: QueueName): QueueOptions {
    const options = this.options.get(queue);
    if (options === undefined) throw new Error(`nobody works on ${queue}`);
    return options;
  }

  /** Whether somebody takes jobs from a queue. */
  isWorked(queue: QueueName): boolean {
    return this.handlers.has(queue);
  }

  /** Delivers a job, as any backend stores it. Settles as its handler does. */
  deliver(
    { queue, id = '', data }: NewJob,
    attempt: number,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    const handler = this.handlers.get(queue);
    if (handler === undefined) throw new Error(`nobody works on ${queue}`);
    const run = handler({ id, data: JSON.parse(JSON.stringify(data)) as unknown, attempt, signal });
    const running = this.running.get(queue) ?? new Set();
    this.running.set(queue, running.add(run));
    // A failure is its caller's.
    void run.catch(() => undefined).finally(() => running.delete(run));
    return run;
  }
}
