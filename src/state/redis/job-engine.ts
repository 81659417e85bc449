import type { JobsOptions, Queue, RedisQueueBackend } from 'bullmq';

import { type Clock, sharedTimeOf } from '../../time/index.js';
import { QueueEngine } from '../database-queue.js';
import type { QueueName, QueueOptions } from '../job-queue.js';
import { inOneLine } from '../errors.js';
import type { Redis } from './redis.js';

/** Most entries of BullMQ's own log of a queue, which nobody reads. */
const MAX_EVENTS = 100;
/** Jobs are never dropped for being taken over often: attempts are ours to count. */
const MAX_STALLED = Number.MAX_SAFE_INTEGER;

/** Where the time stands among the keys and arguments of BullMQ's scripts that go by it. */
const TIME_AT: ReadonlyMap<string, number> = new Map([
  ['moveToActive', 12],
  ['moveToFinished', 15],
]);

/** The shares of a lease: a lock lasts half of it; dead processes' jobs are looked for five times in it. */
const LOCK_SHARE = 1 / 2;
const CHECK_SHARE = 1 / 5;

/** How long the lock on a delivered job lasts, and how often expired ones are looked for, ms. */
export function locksOf({ leaseSeconds }: Pick<QueueOptions, 'leaseSeconds'>): {
  readonly lockMs: number;
  readonly checkMs: number;
} {
  const leaseMs = leaseSeconds * 1000;
  return { lockMs: Math.ceil(leaseMs * LOCK_SHARE), checkMs: Math.ceil(leaseMs * CHECK_SHARE) };
}

/** BullMQ over our connection: it stores jobs, and finds those whose process died. Its own workers are not used. */
export class JobEngine extends QueueEngine {
  private readonly queues = new Map<QueueName, Promise<Queue>>();
  /** The time that BullMQ goes by, milliseconds since the Unix epoch. */
  readonly now: () => number;

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    clock: Clock,
  ) {
    super(clock);
    this.now = sharedTimeOf(clock);
  }

  /** The queue of a name, to add jobs to. */
  queue(name: QueueName): Promise<Queue> {
    const queue = this.queues.get(name) ?? this.open(name, {});
    this.queues.set(name, queue);
    return queue;
  }

  /** What moves the jobs of a queue, for one worker. */
  async mover(name: QueueName, options: QueueOptions): Promise<RedisQueueBackend> {
    const { lockMs, checkMs } = locksOf(options);
    const mover = (
      await this.open(name, { lockDuration: lockMs, stalledInterval: checkMs, maxStalledCount: MAX_STALLED })
    ).getBackend();
    this.setTimes(mover);
    await mover.setQueueMeta({ 'opts.maxLenEvents': MAX_EVENTS });
    return mover;
  }

  protected override explain(reason: unknown): string {
    return inOneLine(this.redis.explain(reason));
  }

  /** BullMQ tells its scripts the time of this machine: when jobs that wait are due, and when those that are done are forgotten. */
  private setTimes(mover: RedisQueueBackend): void {
    const execute = mover.execCommand.bind(mover);
    mover.execCommand = (client, name, args: unknown[]) => {
      const at = TIME_AT.get(name);
      return execute(client, name, at === undefined ? args : args.with(at, this.now())) as unknown;
    };
  }

  private async open(name: QueueName, options: object): Promise<Queue> {
    // Loaded on demand: other backends do without it.
    const { Queue } = await import('bullmq');
    // The queue uses our connection, which heals by itself, and neither waits for it nor closes it.
    const shared = { skipVersionCheck: true, skipWaitingForReady: true, skipMetasUpdate: true };
    const queue = new Queue(name, { connection: this.redis.client, prefix: this.prefix, ...shared, ...options });
    queue.on('error', (error) => this.warn('the job queue fails', error));
    return queue;
  }
}

/** The data of a job as it is stored. */
export interface JobData {
  readonly data: unknown;
  /** Attempts before it was added. */
  readonly after: number;
}

/** How long the keys of a job that is done are kept, seconds: it is not added again by who does not know. */
export const DONE_SECONDS = 600;

/** Among jobs that wait, those that are delivered again come first, and then the oldest. */
export const PRIORITY: Readonly<Record<'again' | 'first', Required<Pick<JobsOptions, 'priority'>>>> = {
  again: { priority: 1 },
  first: { priority: 2 },
};
