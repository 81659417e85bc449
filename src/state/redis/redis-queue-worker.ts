import { randomUUID } from 'node:crypto';

import type { RedisQueueBackend } from 'bullmq';

import type { Clock, Timer } from '../../time/index.js';
import { JobHandedBackError } from '../errors.js';
import { type Job, pauseAfter, type QueueName, type QueueOptions, type QueueWorker } from '../job-queue.js';
import { type HeldJob, HeldJobs } from './held-jobs.js';
import { DONE_SECONDS, type JobData, type JobEngine, locksOf, PRIORITY } from './job-engine.js';

/** How often a process looks for jobs that no notice told of: retries, and jobs of processes that died, ms. */
const POLL_MS = 2000;
/** How often a process shows that it is alive while a lock lasts. */
const SIGNS_OF_LIFE = 4;
/** Most jobs that are asked for at once. */
const BATCH = 16;
/** How long a stop waits for the last commands, ms. */
const LAST_COMMANDS_MS = 2000;

/** What a worker needs. */
export interface QueueWorkerParts {
  readonly engine: JobEngine;
  readonly clock: Clock;
  readonly queue: QueueName;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** A job as BullMQ stores it, as far as it is ours. */
interface StoredJob {
  readonly data: string;
  /** How often it was delivered. */
  readonly attemptsStarted: number;
}

/** Takes the jobs of a queue, and shows that this process is alive. */
export class RedisQueueWorker implements QueueWorker {
  private readonly id = randomUUID();
  private readonly held: HeldJobs;
  private readonly handlers = new Set<Promise<void>>();
  /** Commands to wait for at shutdown. */
  private readonly commands = new Set<Promise<void>>();
  private readonly pausing = new AbortController();
  private readonly stopping = new AbortController();
  private readonly timers: Timer[] = [];
  private mover: RedisQueueBackend | undefined;
  private deliveries = 0;
  private isFetching = false;
  /** Whether there may be jobs that wait. */
  private mayFind = true;

  constructor(private readonly parts: QueueWorkerParts) {
    this.held = new HeldJobs(locksOf(parts.options).lockMs);
  }

  /** Prepares the queue, and takes jobs from then on. Resolves when Redis has permitted it; never rejects. */
  async begin(): Promise<void> {
    const { engine, queue, options } = this.parts;
    const { signal } = this.pausing;
    let mover: RedisQueueBackend | undefined;
    const open = async (): Promise<void> => void (mover = await engine.mover(queue, options));
    await engine.repeat(`queue ${queue}`, open, signal);
    if (mover === undefined || signal.aborted || options.concurrency === 0) return;
    this.mover = mover;
    const { lockMs, checkMs } = locksOf(options);
    this.repeatEvery(POLL_MS, () => this.wake());
    this.repeatEvery(lockMs / SIGNS_OF_LIFE, () => this.attempt(() => this.held.touch(this.ready)));
    this.repeatEvery(checkMs, () => this.attempt(() => this.takeOver()));
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
    await this.parts.clock.within(emptied(this.commands), LAST_COMMANDS_MS);
    this.stopping.abort();
    for (const timer of this.timers) timer.cancel();
  }

  private get ready(): RedisQueueBackend {
    if (this.mover === undefined) throw new Error('the queue is not prepared');
    return this.mover;
  }

  private get freeSlots(): number {
    const isTaking = this.mover !== undefined && !this.pausing.signal.aborted;
    return isTaking ? this.parts.options.concurrency - this.handlers.size : 0;
  }

  /** Fetches jobs until there are none, or no slots: more at once for as long as there are. */
  private async fetchAll(): Promise<void> {
    const { engine, queue } = this.parts;
    this.isFetching = true;
    for (let count = 1; this.mayFind && this.freeSlots > 0; count = Math.min(2 * count, BATCH)) {
      await engine.repeat(`queue ${queue}`, () => this.fetch(count), this.pausing.signal);
    }
    this.isFetching = false;
  }

  private async fetch(most: number): Promise<void> {
    this.mayFind = false;
    const count = Math.min(most, this.freeSlots);
    const tokens = Array.from({ length: count }, () => `${this.id}:${(this.deliveries += 1)}`);
    const fetched = await Promise.allSettled(tokens.map((token) => this.ready.moveToActive(token)));
    for (const [index, one] of fetched.entries()) {
      if (one.status === 'rejected') continue;
      const [job, id] = one.value as [StoredJob | null | undefined, string];
      if (!job) continue;
      this.mayFind ||= index === count - 1;
      this.deliver(id, tokens[index] ?? '', job);
    }
    for (const one of fetched) if (one.status === 'rejected') throw one.reason;
  }

  private deliver(id: string, token: string, { data: text, attemptsStarted }: StoredJob): void {
    const { clock, options } = this.parts;
    const { data, after } = JSON.parse(text) as JobData;
    const held: HeldJob = { id, token, attempt: after + attemptsStarted, lost: new AbortController() };
    this.held.add(held);
    // Its process died in the last attempt; or this one paused while the job was fetched.
    if (held.attempt > options.maxAttempts || this.pausing.signal.aborted) {
      this.settle(held, false);
      return;
    }
    held.limit = clock.schedule(options.maxRunSeconds * 1000, () => {
      this.settle(held, false);
      held.lost.abort();
    });
    const handling = this.handle(data, held).then((isDone) => {
      this.handlers.delete(handling);
      if (!held.lost.signal.aborted) this.settle(held, isDone);
      if (this.mayFind) this.wake();
    });
    this.handlers.add(handling);
  }

  /** Whether the job is done. */
  private async handle(data: unknown, { attempt, lost }: HeldJob): Promise<boolean> {
    const { engine, queue, handler } = this.parts;
    try {
      await handler({ data, attempt, signal: lost.signal });
      return true;
    } catch (error) {
      if (!(error instanceof JobHandedBackError)) engine.warn(`a job of queue ${queue} failed`, error);
      return false;
    }
  }

  /** Deletes a job, or has it delivered again after a pause; neither if it belongs to another process already. */
  private settle(held: HeldJob, isDone: boolean): void {
    const { engine, queue, options } = this.parts;
    const isLast = isDone || held.attempt >= options.maxAttempts;
    const settle = async (): Promise<void> => {
      const settling = isLast ? this.complete(held) : this.postpone(held);
      await settling.catch((error: unknown) => {
        if (!isNotHeld(error)) throw error;
      });
    };
    this.held.remove(held);
    this.track(engine.repeat(`queue ${queue}`, settle, this.stopping.signal));
  }

  private complete({ id, token }: HeldJob): Promise<unknown> {
    // The job of a turn may have to be added again: as long as the response has not ended.
    const keep = this.parts.queue === 'turns' ? true : { age: DONE_SECONDS };
    return this.ready.moveToCompleted({ id, opts: {} } as never, null, keep, token, false);
  }

  private postpone({ id, token, attempt }: HeldJob): Promise<unknown> {
    const pauseMs = pauseAfter(attempt, this.parts.options) * 1000;
    // By the time that BullMQ goes by.
    return this.ready.moveToDelayed(id, Date.now(), pauseMs, token, {
      skipAttempt: true,
      fieldsToUpdate: PRIORITY.again,
    });
  }

  /** Puts jobs of dead processes back into the queue. */
  private async takeOver(): Promise<void> {
    if ((await this.ready.moveStalledJobsToWait()).length > 0) this.wake();
  }

  /** Does what will be repeated anyway. */
  private attempt(work: () => Promise<unknown>): void {
    const { engine, queue } = this.parts;
    work().catch((error: unknown) => engine.warn(`queue ${queue}`, error));
  }

  private track(command: Promise<void>): void {
    const tracked = command.finally(() => this.commands.delete(tracked));
    this.commands.add(tracked);
  }

  private repeatEvery(intervalMs: number, work: () => void): void {
    const timer = this.parts.clock.schedule(intervalMs, () => {
      work();
      timer.refresh();
    });
    this.timers.push(timer);
  }
}

/** Whether a job was not moved because it is another delivery's, or gone. */
function isNotHeld(error: unknown): boolean {
  return error instanceof Error && typeof (error as { readonly code?: unknown }).code === 'number';
}

/** Resolves when nothing is left; what ends may add more. */
async function emptied(promises: ReadonlySet<Promise<void>>): Promise<void> {
  while (promises.size > 0) await Promise.all(promises);
}
