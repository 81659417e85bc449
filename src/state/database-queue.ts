import { Logger } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import type { Clock, Timer } from '../time/index.js';
import { JobHandedBackError } from './errors.js';
import { type Job, JobQueue, type QueueName, type QueueOptions, type QueueWorker } from './job-queue.js';
import type { RunNotices } from './notices.js';
import { repeatUntilDone } from './repeat.js';
import { LONGEST_STOP_MS } from './state-backend.js';

/** How long a start waits for a queue to be prepared, ms. */
const PREPARING_MS = 2000;
/** How often a process looks for jobs that no notice told of: retries, and jobs of processes that died, ms. */
const POLL_MS = 2000;

/** Queues in a database, for all replicas. Notices wake the workers of this process. */
export abstract class DatabaseJobQueue extends JobQueue {
  override readonly isDurable = true;
  private readonly workers = new Set<DatabaseQueueWorker>();

  constructor(
    notices: RunNotices,
    protected readonly clock: Clock,
  ) {
    super();
    const wake = (): void => this.workers.forEach((worker) => worker.wake());
    notices.subscribe({ enqueued: wake, resumed: wake });
  }

  /** Takes no more jobs. */
  pause(): void {
    for (const worker of this.workers) worker.pause();
  }

  /** Has a worker begin; one that `isReady` to is waited for, but not for long. */
  protected async begin(worker: DatabaseQueueWorker, isReady: boolean): Promise<QueueWorker> {
    this.workers.add(worker);
    const begun = worker.begin();
    if (isReady) await this.clock.within(begun, PREPARING_MS);
    return worker;
  }
}

/** What stores the jobs of a database, in its library. */
export abstract class QueueEngine {
  private readonly outages = new OutageLog(new Logger('JobQueue'));

  constructor(protected readonly clock: Clock) {}

  /** Repeats work until it succeeds or the signal aborts; failures are logged. Never rejects. */
  repeat(what: string, work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    return repeatUntilDone(work, { clock: this.clock, signal, onFailure: (error) => this.warn(what, error) });
  }

  /** Logs a failure: one line a minute per reason. */
  warn(what: string, reason: unknown): void {
    this.outages.warn(what, this.explain(reason));
  }

  /** What has failed, in one line. */
  protected abstract explain(reason: unknown): string;
}

/** What a worker needs. */
export interface QueueWorkerParts<Engine extends QueueEngine = QueueEngine> {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly queue: QueueName;
  /** `concurrency`: most jobs at once. */
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** Takes the jobs of a queue in a database: when they are fetched, how many, and what is waited for. */
export abstract class DatabaseQueueWorker<Engine extends QueueEngine = QueueEngine> implements QueueWorker {
  private readonly handlers = new Set<Promise<void>>();
  /** To the database; waited for at shutdown. */
  private readonly requests = new Set<Promise<void>>();
  private readonly pausing = new AbortController();
  private readonly stopping = new AbortController();
  private readonly timers: Timer[] = [];
  private isOpen = false;
  private isFetching = false;
  /** Whether there may be jobs that wait. */
  private mayFind = true;

  constructor(protected readonly parts: QueueWorkerParts<Engine>) {}

  /** Prepares the queue, and takes jobs from then on. Resolves when the database has permitted it; never rejects. */
  abstract begin(): Promise<void>;

  /** There may be jobs that wait. */
  wake(): void {
    this.mayFind = true;
    if (this.free > 0 && !this.isFetching) this.track(this.fetchAll());
  }

  pause(): void {
    this.pausing.abort();
  }

  async stop(): Promise<void> {
    this.pause();
    await emptied(this.handlers);
    await this.parts.clock.within(emptied(this.requests), LONGEST_STOP_MS);
    this.stopping.abort();
    for (const timer of this.timers) timer.cancel();
  }

  /**
   * Asks the database for up to so many jobs and runs them. Returns whether there may be more. `round`: how often it was asked
   * before, since nothing was left the last time.
   */
  protected abstract fetch(free: number, round: number): Promise<boolean>;

  protected get isPaused(): boolean {
    return this.pausing.signal.aborted;
  }

  /** Does what has to be done before jobs are fetched, until it succeeds or the worker is paused. Never rejects. */
  protected prepare(work: () => Promise<unknown>): Promise<void> {
    return this.repeat(work, this.pausing.signal);
  }

  /** Fetches jobs from now on. */
  protected open(): void {
    this.isOpen = true;
    this.every(POLL_MS, () => this.wake());
    this.wake();
  }

  /** Does work at an interval, ms, until the worker is stopped; failures are logged. */
  protected every(intervalMs: number, work: () => unknown): void {
    const attempt = async (): Promise<unknown> => work();
    const timer = this.parts.clock.schedule(intervalMs, () => {
      attempt().catch((error: unknown) => this.parts.engine.warn(this.what, error));
      timer.refresh();
    });
    this.timers.push(timer);
  }

  /** Runs a job. `settle` learns whether it is done. */
  protected run(handle: () => Promise<void>, settle: (isDone: boolean) => void): void {
    const handling = this.handle(handle).then((isDone) => {
      this.handlers.delete(handling);
      settle(isDone);
      if (this.mayFind) this.wake();
    });
    this.handlers.add(handling);
  }

  /** Logs that a job ends because its data cannot be read: no delivery could read them. */
  protected warnOfDamage(id: string): void {
    const { engine, queue } = this.parts;
    engine.warn('a job was ended whose data cannot be read', new Error(`job ${id} of the queue ${queue}`));
  }

  /** Writes the outcome of a job to the database, and repeats that until it succeeds or the worker is stopped. Never rejects. */
  protected tell(work: () => Promise<unknown>): Promise<void> {
    const told = this.repeat(work, this.stopping.signal);
    this.track(told);
    return told;
  }

  private get what(): string {
    return `queue ${this.parts.queue}`;
  }

  /** How many more jobs may be fetched. */
  private get free(): number {
    return this.isOpen && !this.isPaused ? this.parts.options.concurrency - this.handlers.size : 0;
  }

  /** Fetches jobs until there are none, or no more may be. */
  private async fetchAll(): Promise<void> {
    this.isFetching = true;
    for (let round = 0; this.mayFind && this.free > 0; round += 1) {
      await this.repeat(() => this.fetchOnce(round), this.pausing.signal);
    }
    this.isFetching = false;
  }

  private async fetchOnce(round: number): Promise<void> {
    const { free } = this;
    if (free === 0) return;
    this.mayFind = false;
    if (await this.fetch(free, round)) this.mayFind = true;
  }

  /** Whether the job is done. */
  private async handle(handle: () => Promise<void>): Promise<boolean> {
    try {
      await handle();
      return true;
    } catch (error) {
      const { engine, queue } = this.parts;
      if (!(error instanceof JobHandedBackError)) engine.warn(`a job of queue ${queue} failed`, error);
      return false;
    }
  }

  private repeat(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    return this.parts.engine.repeat(this.what, work, signal);
  }

  private track(request: Promise<void>): void {
    const tracked = request.finally(() => this.requests.delete(tracked));
    this.requests.add(tracked);
  }
}

/** Resolves when nothing is left; what ends may add more. */
async function emptied(promises: ReadonlySet<Promise<void>>): Promise<void> {
  while (promises.size > 0) await Promise.all(promises);
}

/** A delivery of a job that this process holds. */
export interface HeldJob {
  readonly id: string;
  /** Aborted when this process holds it no longer. */
  readonly lost: AbortController;
}

/** The jobs of a queue that this process holds. */
export class HeldJobs<Held extends HeldJob> {
  private readonly jobs = new Map<string, Held>();

  /** `touch` tells the database that this process is alive, and returns which jobs it still holds. */
  constructor(private readonly touch: (held: readonly Held[]) => Promise<(id: string) => boolean>) {}

  /** A new delivery of a job ends an earlier one. */
  add(held: Held): void {
    this.jobs.get(held.id)?.lost.abort();
    this.jobs.set(held.id, held);
  }

  remove(held: Held): void {
    if (this.jobs.get(held.id) === held) this.jobs.delete(held.id);
  }

  /** Shows that this process is alive, and aborts the jobs that belong to it no longer. */
  async keep(): Promise<void> {
    const touched = [...this.jobs.values()];
    if (touched.length === 0) return;
    const isHeld = await this.touch(touched);
    for (const { id, lost } of touched) if (!isHeld(id)) lost.abort();
  }
}
