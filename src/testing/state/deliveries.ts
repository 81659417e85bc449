import type { Job, JobQueue, QueueName, QueueOptions, QueueWorker } from '../../state/index.js';

/** One delivery of a job; its handler runs until the test ends it. */
export interface Delivery extends Job {
  /** The handler resolves. */
  done(): void;
  /** The handler rejects. */
  fail(): void;
}

/** Options of a queue in tests. */
export const OPTIONS: QueueOptions & { readonly concurrency: number } = {
  leaseSeconds: 30,
  maxRunSeconds: 60,
  retryDelaySeconds: 1,
  maxAttempts: 100,
  concurrency: 10,
};

/** A worker whose handlers the test ends. */
export class Deliveries {
  readonly all: Delivery[] = [];
  private readonly waiting: (() => void)[] = [];
  private started: QueueWorker | undefined;

  /** Takes the jobs of a queue. */
  static async of(
    jobs: JobQueue,
    options: Partial<typeof OPTIONS> = {},
    queue: QueueName = 'turns',
  ): Promise<Deliveries> {
    const deliveries = new Deliveries();
    deliveries.started = await jobs.work(queue, { ...OPTIONS, ...options }, (job) => deliveries.deliver(job));
    return deliveries;
  }

  get worker(): QueueWorker {
    if (this.started === undefined) throw new Error('it has not started');
    return this.started;
  }

  /** The delivery with an index; waits for it. */
  async at(index: number): Promise<Delivery> {
    for (;;) {
      const delivery = this.all.at(index);
      if (delivery !== undefined) return delivery;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** The data of all deliveries so far. */
  get data(): readonly unknown[] {
    return this.all.map((delivery) => delivery.data);
  }

  /** Ends all handlers, and the worker. */
  async stop(): Promise<void> {
    this.worker.pause();
    for (const delivery of this.all) delivery.done();
    await this.worker.stop();
  }

  private async deliver({ id, data, attempt, signal }: Job): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.all.push({
      id,
      data,
      attempt,
      signal,
      done: () => resolve(undefined),
      fail: () => reject(new Error('the test says so')),
    });
    for (const wake of this.waiting.splice(0)) wake();
    await promise;
  }
}

/** Resolves when a signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
