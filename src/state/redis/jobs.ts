import { randomUUID } from 'node:crypto';

import type { Clock } from '../../time/index.js';
import { isObject } from '../../json.js';
import { DamagedRecordError, inOneLine, StoreUnavailableError } from '../errors.js';
import { DatabaseJobQueue } from '../database-queue.js';
import { type JobReference, jobRecord, type NewJob, type QueueName, type QueueWorker } from '../job-queue.js';
import type { RunNotices } from '../notices.js';
import { readRecord } from '../read-record.js';
import { type JobData, JobEngine, PRIORITY } from './job-engine.js';
import type { RedisNotices } from './notices.js';
import { RedisQueueWorker } from './queue-worker.js';
import type { Redis } from './redis.js';

/** The states of BullMQ of jobs that are not done. */
const OPEN_STATES = ['active', 'delayed', 'wait', 'prioritized'] as const;
/** Jobs that are looked at together. */
const PAGE = 500;
/** Attempts to remove a job that is delivered in the same moment. */
const REMOVALS = 5;

/** A job with its id, under which it is added once however often that is tried. */
export interface IdentifiedJob extends Required<NewJob> {
  /** The latest attempt of a job that was lost: its attempts are counted on. */
  readonly after?: number;
}

/** Gives jobs without an id one. */
export function identify(jobs: readonly NewJob[]): readonly IdentifiedJob[] {
  return jobs.map(({ queue, id = randomUUID(), data }) => ({ queue, id, data }));
}

/** Queues in Redis: BullMQ, without its workers. */
export class RedisJobQueue extends DatabaseJobQueue {
  private readonly engine: JobEngine;

  constructor(
    private readonly redis: Redis,
    prefix: string,
    notices: RunNotices,
    private readonly published: Pick<RedisNotices, 'enqueued'>,
    clock: Clock,
  ) {
    super(notices, clock);
    this.engine = new JobEngine(redis, prefix, clock);
  }

  /** Adds jobs; one whose id is there already is not added again. Throws StoreUnavailableError. */
  async add(jobs: readonly IdentifiedJob[]): Promise<void> {
    if (jobs.length === 0) return;
    for (const [name, group] of Map.groupBy(jobs, (job) => job.queue)) {
      const added = group.map(({ id, data, after = 0 }) => ({
        name,
        data: { data, after } satisfies JobData,
        opts: { jobId: id, ...PRIORITY.first },
      }));
      await this.attempt(async () => (await this.engine.queue(name)).addBulk(added));
    }
    // Without the notice they are found a little later.
    await this.published.enqueued().catch(() => undefined);
  }

  /**
   * The jobs of a queue that are not done: first those that were delivered, each oldest first. Throws StoreUnavailableError, and
   * DamagedRecordError for one whose data cannot be read.
   */
  async *open(name: QueueName): AsyncGenerator<{ readonly id: string; readonly data: object }> {
    const queue = await this.engine.queue(name);
    for (const state of OPEN_STATES) {
      for (let start = 0; ; start += PAGE) {
        const ids = await this.attempt(() => queue.getRanges([state], start, start + PAGE - 1, true));
        for (const id of ids) {
          const [text] = await this.redis.read(['HGET', queue.toKey(id), 'data']);
          if (typeof text !== 'string') continue;
          const record = jobRecord({ queue: name, id });
          const { data } = readRecord<JobData>(text, record);
          if (!isObject(data)) throw new DamagedRecordError(record, 'data were expected');
          yield { id, data };
        }
        if (ids.length < PAGE) break;
      }
    }
  }

  /** Removes a job, also one that is delivered: its signal aborts. Throws StoreUnavailableError. */
  async remove({ queue, id }: JobReference): Promise<void> {
    const backend = (await this.engine.queue(queue)).getBackend();
    for (let removal = 0; removal < REMOVALS; removal += 1) {
      // BullMQ removes nothing that is locked.
      await this.redis.write(['DEL', backend.toKey(`${id}:lock`)]);
      if ((await this.attempt(() => backend.remove(id, false))) === 1) return;
    }
  }

  override work(...[queue, options, handler]: Parameters<DatabaseJobQueue['work']>): Promise<QueueWorker> {
    const { engine, clock } = this;
    return this.begin(new RedisQueueWorker({ engine, clock, queue, options, handler }), true);
  }

  private async attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new StoreUnavailableError(inOneLine(this.redis.explain(error)), { cause: error });
    }
  }
}
