import type { Clock, Timer } from '../time/index.js';
import { JobHandedBackError } from './errors.js';
import type { QueueName } from './job-queue.js';

/** How often a process looks for jobs that no notice told of: retries, and jobs of processes that died, ms. */
const POLL_MS = 2000;
/** How long a stop waits for the last requests to the database, ms. */
const LAST_REQUESTS_MS = 2000;

/** What the slots of a queue need. */
export interface JobSlotsParts {
  readonly clock: Clock;
  readonly queue: QueueName;
  /** Most jobs at once. */
  readonly concurrency: number;
  /** Repeats what asks the database until it succeeds, and logs its failures. */
  readonly engine: {
    repeat(what: string, work: () => Promise<unknown>, signal: AbortSignal): Promise<void>;
    warn(what: string, reason: unknown): void;
  };
}

/**
 * Asks the database for up to so many jobs and runs them. Returns whether there may be more. `round`: how often it was asked
 * before, since nothing was left the last time.
 */
export type FetchJobs = (free: number, round: number) => Promise<boolean>;

/** The slots of this process for the jobs of a queue in a database: when jobs are fetched, how many, and what is waited for. */
export class JobSlots {
  private readonly handlers = new Set<Promise<void>>();
  /** To the database; waited for at shutdown. */
  private readonly requests = new Set<Promise<void>>();
  private readonly pausing = new AbortController();
  private readonly stopping = new AbortController();
  private readonly timers: Timer[] = [];
  private fetch: FetchJobs | undefined;
  private isFetching = false;
  /** Whether there may be jobs that wait. */
  private mayFind = true;

  constructor(private readonly parts: JobSlotsParts) {}

  get isPaused(): boolean {
    return this.pausing.signal.aborted;
  }

  /** Does what has to be done before jobs are fetched, until it succeeds or the slots are paused. Never rejects. */
  prepare(work: () => Promise<unknown>): Promise<void> {
    return this.repeat(work, this.pausing.signal);
  }

  /** Fetches jobs from now on. */
  open(fetch: FetchJobs): void {
    this.fetch = fetch;
    this.every(POLL_MS, () => this.wake());
    this.wake();
  }

  /** There may be jobs that wait. */
  wake(): void {
    this.mayFind = true;
    if (this.free > 0 && !this.isFetching) this.track(this.fetchAll());
  }

  /** Does work at an interval, ms, until the slots are stopped; failures are logged. */
  every(intervalMs: number, work: () => unknown): void {
    const attempt = async (): Promise<unknown> => work();
    const timer = this.parts.clock.schedule(intervalMs, () => {
      attempt().catch((error: unknown) => this.parts.engine.warn(this.what, error));
      timer.refresh();
    });
    this.timers.push(timer);
  }

  /** Runs a job in a slot. `settle` learns whether it is done. */
  run(handle: () => Promise<void>, settle: (isDone: boolean) => void): void {
    const handling = this.handle(handle).then((isDone) => {
      this.handlers.delete(handling);
      settle(isDone);
      if (this.mayFind) this.wake();
    });
    this.handlers.add(handling);
  }

  /** Tells the database what became of a job, until it is told or the slots are stopped. Never rejects. */
  settle(work: () => Promise<unknown>): Promise<void> {
    const settled = this.repeat(work, this.stopping.signal);
    this.track(settled);
    return settled;
  }

  /** Fetches no more jobs. */
  pause(): void {
    this.pausing.abort();
  }

  /** Fetches no more jobs, and resolves when the handlers have ended. */
  async stop(): Promise<void> {
    this.pause();
    await emptied(this.handlers);
    await this.parts.clock.within(emptied(this.requests), LAST_REQUESTS_MS);
    this.stopping.abort();
    for (const timer of this.timers) timer.cancel();
  }

  private get what(): string {
    return `queue ${this.parts.queue}`;
  }

  private get free(): number {
    return this.fetch === undefined || this.isPaused ? 0 : this.parts.concurrency - this.handlers.size;
  }

  /** Fetches jobs until there are none, or no slots. */
  private async fetchAll(): Promise<void> {
    this.isFetching = true;
    for (let round = 0; this.mayFind && this.free > 0; round += 1) {
      await this.repeat(() => this.fetchOnce(round), this.pausing.signal);
    }
    this.isFetching = false;
  }

  private async fetchOnce(round: number): Promise<void> {
    const { fetch, free } = this;
    if (fetch === undefined || free === 0) return;
    this.mayFind = false;
    if (await fetch(free, round)) this.mayFind = true;
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
