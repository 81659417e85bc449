import type { Job as BossJob, PgBoss } from 'pg-boss';

import type { Clock, Timer } from '../../time/index.js';
import { JobHandedBackError } from '../errors.js';
import type { Job, QueueName, QueueOptions, QueueWorker } from '../job-queue.js';
import { LAST_STATEMENTS_MS } from './database.js';
import { type HeldJob, HeldJobs } from './held-jobs.js';
import type { JobEngine } from './job-engine.js';
import { SHORTEST_HEARTBEAT, toBossOptions } from './queue-options.js';

/** How often a process looks for jobs that no notice told of: retries, and jobs of processes that died, ms. */
const POLL_MS = 2000;
/**
 * How often a process shows that it is alive, ms: by the shortest time after which it can count as dead, because jobs keep
 * the lease that they were enqueued with.
 */
const SIGN_OF_LIFE_MS = (SHORTEST_HEARTBEAT * 1000) / 4;

/** What a worker needs. */
export interface QueueWorkerParts {
  readonly engine: JobEngine;
  readonly clock: Clock;
  readonly queue: QueueName;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** The data of a job as it is stored: JSON. */
interface StoredData {
  readonly body: string;
}

/** Takes the jobs of a queue, as many with one statement as it has room for, and shows that this process is alive. */
export class PostgresQueueWorker implements QueueWorker {
  private readonly held: HeldJobs;
  private readonly handlers = new Set<Promise<void>>();
  /** Statements to wait for at shutdown. */
  private readonly statements = new Set<Promise<void>>();
  private readonly pausing = new AbortController();
  private readonly stopping = new AbortController();
  private readonly timers: Timer[] = [];
  private isPrepared = false;
  private isFetching = false;
  /** Whether there may be jobs that wait. */
  private mayFind = true;

  constructor(private readonly parts: QueueWorkerParts) {
    this.held = new HeldJobs(parts.queue);
  }

  /** Prepares the queue, and takes jobs from then on. Resolves when the database has permitted it; never rejects. */
  async begin(): Promise<void> {
    const { engine, queue, options } = this.parts;
    const boss = await engine.whenReady;
    const { signal } = this.pausing;
    await engine.repeat(`queue ${queue}`, () => boss.updateQueue(queue, toBossOptions(options)), signal);
    if (signal.aborted || options.concurrency === 0) return;
    this.isPrepared = true;
    this.repeatEvery(POLL_MS, () => this.wake());
    this.repeatEvery(SIGN_OF_LIFE_MS, () => void this.touch());
    this.wake();
  }

  /** There may be jobs that wait. */
  wake(): void {
    this.mayFind = true;
    if (this.freeSlots > 0 && !this.isFetching) this.track(this.fetchAll());
  }

  pause(): void {
    this.pausing.abort();
  }

  async stop(): Promise<void> {
    this.pause();
    await emptied(this.handlers);
    await this.parts.clock.within(emptied(this.statements), LAST_STATEMENTS_MS);
    this.stopping.abort();
    for (const timer of this.timers) timer.cancel();
  }

  private get freeSlots(): number {
    return this.isPrepared && !this.pausing.signal.aborted ? this.parts.options.concurrency - this.handlers.size : 0;
  }

  /** Fetches jobs until there are none, or no slots. */
  private async fetchAll(): Promise<void> {
    const { engine, queue } = this.parts;
    this.isFetching = true;
    while (this.mayFind && this.freeSlots > 0) {
      await engine.repeat(`queue ${queue}`, () => this.fetch(engine.ready), this.pausing.signal);
    }
    this.isFetching = false;
  }

  private async fetch(boss: PgBoss): Promise<void> {
    const free = this.freeSlots;
    if (free === 0) return;
    this.mayFind = false;
    const jobs = await boss.fetch<StoredData>(this.parts.queue, { batchSize: free });
    if (jobs.length === free) this.mayFind = true;
    for (const job of jobs) this.deliver(boss, job);
  }

  private deliver(boss: PgBoss, job: BossJob<StoredData>): void {
    const held = this.held.add(job);
    if (this.pausing.signal.aborted) {
      // It paused while the job was fetched.
      this.settle(boss, held, false);
      return;
    }
    const handling = this.handle(job, held).then((isDone) => {
      this.handlers.delete(handling);
      this.settle(boss, held, isDone);
      if (this.mayFind) this.wake();
    });
    this.handlers.add(handling);
  }

  /** Whether the job is done. */
  private async handle({ data, retryCount }: BossJob<StoredData>, { lost }: HeldJob): Promise<boolean> {
    const { engine, queue, handler } = this.parts;
    try {
      await handler({ data: JSON.parse(data.body), attempt: retryCount + 1, signal: lost.signal });
      return true;
    } catch (error) {
      if (!(error instanceof JobHandedBackError)) engine.warn(`a job of queue ${queue} failed`, error);
      return false;
    }
  }

  /** Deletes a job, or has it delivered again after a pause; neither if it belongs to another process already. */
  private settle(boss: PgBoss, held: HeldJob, isDone: boolean): void {
    const { engine, queue } = this.parts;
    const settle = (): Promise<unknown> => (isDone ? boss.deleteJob(queue, held.claim) : boss.fail(queue, held.claim));
    const settled = engine.repeat(`queue ${queue}`, settle, this.stopping.signal);
    this.track(settled.then(() => this.held.remove(held)));
  }

  private touch(): Promise<void> {
    const { engine, queue } = this.parts;
    return this.held.touch(engine.ready).catch((error: unknown) => engine.warn(`queue ${queue}`, error));
  }

  private track(statement: Promise<void>): void {
    const tracked = statement.finally(() => this.statements.delete(tracked));
    this.statements.add(tracked);
  }

  private repeatEvery(intervalMs: number, work: () => void): void {
    const timer = this.parts.clock.schedule(intervalMs, () => {
      work();
      timer.refresh();
    });
    this.timers.push(timer);
  }
}

/** Resolves when nothing is left; what ends may add more. */
async function emptied(promises: ReadonlySet<Promise<void>>): Promise<void> {
  while (promises.size > 0) await Promise.all(promises);
}
