import type { Job as BossJob, JobAttempt, PgBoss, UpdateQueueOptions } from 'pg-boss';

import { isObject, parseJson } from '../../json.js';
import { DatabaseQueueWorker, type HeldJob as Held, HeldJobs } from '../database-queue.js';
import type { QueueOptions } from '../job-queue.js';
import { type JobEngine, TAKEOVER_SECONDS } from './job-engine.js';

/** The least that pg-boss allows, seconds. */
const SHORTEST_HEARTBEAT = 10;

/** The most that pg-boss allows, seconds. */
const LONGEST_RUN = 86_400;

/** How long a job may wait, seconds: longer than any turn. */
const LONGEST_WAIT = 365 * 86_400;

/** How long a job is stored that failed for the last time, seconds. */
const FAILED_SECONDS = 3600;

const MOST_RETRIES = 2 ** 31 - 1;

/**
 * How often a process shows that it is alive, ms: by the shortest time after which it can count as dead, because jobs keep
 * the lease that they were enqueued with.
 */
const SIGN_OF_LIFE_MS = (SHORTEST_HEARTBEAT * 1000) / 4;

/** The data of a job as it is stored: JSON. */
interface StoredData {
  readonly body: string;
}

/** The data of a stored job; undefined when it is damaged. */
function readJob(stored: StoredData): object | undefined {
  const body: unknown = isObject(stored) ? stored.body : undefined;
  const data = typeof body === 'string' ? parseJson(body) : undefined;
  return isObject(data) ? data : undefined;
}

/** Takes the jobs of a queue, as many with one statement as it has room for, and shows that this process is alive. */
export class PostgresQueueWorker extends DatabaseQueueWorker<JobEngine> {
  private readonly held = new HeldJobs<HeldJob>((held) => this.touch(held));

  override async begin(): Promise<void> {
    const { engine, queue, options } = this.parts;
    const boss = await engine.whenReady;
    await this.prepare(() => boss.updateQueue(queue, toBossOptions(options)));
    if (this.isPaused || options.concurrency === 0) return;
    this.every(SIGN_OF_LIFE_MS, () => this.held.keep());
    this.open();
  }

  protected override async fetch(free: number): Promise<boolean> {
    const boss = this.parts.engine.ready;
    const jobs = await boss.fetch<StoredData>(this.parts.queue, { batchSize: free });
    for (const job of jobs) this.deliver(boss, job);
    return jobs.length === free;
  }

  private deliver(boss: PgBoss, job: BossJob<StoredData>): void {
    const { handler } = this.parts;
    const { id, retryCount } = job;
    const held = { id, claim: { id, retryCount }, lost: new AbortController() };
    this.held.add(held);
    if (this.isPaused) {
      // The worker was paused while the job was fetched.
      this.settle(boss, held, false);
      return;
    }
    const data = readJob(job.data);
    if (data === undefined) {
      this.warnOfDamage(id);
      this.settle(boss, held, true);
      return;
    }
    this.run(
      async () => handler({ id, data, attempt: retryCount + 1, signal: held.lost.signal }),
      (isDone) => this.settle(boss, held, isDone),
    );
  }

  /** Deletes a job, or has it delivered again after a pause; neither if it belongs to another process already. */
  private settle(boss: PgBoss, held: HeldJob, isDone: boolean): void {
    const { queue } = this.parts;
    const settle = (): Promise<unknown> => (isDone ? boss.deleteJob(queue, held.claim) : boss.fail(queue, held.claim));
    void this.tell(settle).then(() => this.held.remove(held));
  }

  private async touch(held: readonly HeldJob[]): Promise<(id: string) => boolean> {
    const { engine, queue } = this.parts;
    const claims = held.map(({ claim }) => claim);
    const { settled } = (await engine.ready.touch(queue, claims)) as Touched;
    const kept = new Set(settled);
    return (id) => kept.has(id);
  }
}

/** pg-boss's answer to `touch`, of which it declares nothing. */
interface Touched {
  /** The ids of the jobs that are still held. */
  readonly settled: readonly string[];
}

interface HeldJob extends Held {
  readonly claim: JobAttempt;
}

/** After how many seconds without a sign of life a process counts as dead. */
function heartbeatOf({ leaseSeconds }: QueueOptions): number {
  return Math.max(SHORTEST_HEARTBEAT, Math.floor(leaseSeconds) - TAKEOVER_SECONDS);
}

/** The options of a queue in pg-boss's terms. */
function toBossOptions(options: QueueOptions): UpdateQueueOptions {
  const { maxRunSeconds, retryDelaySeconds, longestRetryDelaySeconds, maxAttempts } = options;
  return {
    heartbeatSeconds: heartbeatOf(options),
    expireInSeconds: Math.min(Math.max(1, Math.ceil(maxRunSeconds)), LONGEST_RUN),
    retryLimit: Math.min(maxAttempts - 1, MOST_RETRIES),
    retryDelay: Math.ceil(retryDelaySeconds),
    retryBackoff: longestRetryDelaySeconds !== undefined,
    retryDelayMax: longestRetryDelaySeconds === undefined ? null : Math.ceil(longestRetryDelaySeconds),
    retentionSeconds: LONGEST_WAIT,
    deleteAfterSeconds: FAILED_SECONDS,
  };
}
