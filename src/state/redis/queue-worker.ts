import { randomUUID } from 'node:crypto';

import type { RedisQueueBackend } from 'bullmq';

import type { Timer } from '../../time/index.js';
import { isObject, parseJson } from '../../json.js';
import { DatabaseQueueWorker, type HeldJob as Held, HeldJobs } from '../database-queue.js';
import { pauseAfter } from '../job-queue.js';
import { DONE_SECONDS, type JobData, type JobEngine, locksOf, PRIORITY } from './job-engine.js';

/** How often a process shows that it is alive while a lock lasts. */
const SIGNS_OF_LIFE = 4;
/** Most jobs that are asked for at once. */
const BATCH = 16;

/** A job as BullMQ stores it, as far as it is ours. */
interface StoredJob {
  readonly data: string;
  /** How often it was delivered. */
  readonly attemptsStarted: number;
}

/** Takes the jobs of a queue, and shows that this process is alive. */
export class RedisQueueWorker extends DatabaseQueueWorker<JobEngine> {
  private readonly id = randomUUID();
  private readonly held = new HeldJobs<HeldJob>((held) => this.touch(held));
  private mover: RedisQueueBackend | undefined;
  private deliveries = 0;

  override async begin(): Promise<void> {
    const { engine, queue, options } = this.parts;
    await this.prepare(async () => {
      this.mover = await engine.mover(queue, options);
    });
    if (this.isPaused || options.concurrency === 0) return;
    const { lockMs, checkMs } = locksOf(options);
    this.every(lockMs / SIGNS_OF_LIFE, () => this.held.keep());
    this.every(checkMs, () => this.takeOver());
    this.open();
  }

  /** Takes jobs, more at once for as long as there are; whether the last one asked for was there. */
  protected override async fetch(free: number, round: number): Promise<boolean> {
    const count = Math.min(2 ** round, BATCH, free);
    const tokens = Array.from({ length: count }, () => `${this.id}:${(this.deliveries += 1)}`);
    const fetched = await Promise.allSettled(tokens.map((token) => this.ready.moveToActive(token)));
    let mayFind = false;
    for (const [index, one] of fetched.entries()) {
      if (one.status === 'rejected') continue;
      const [job, id] = one.value as [StoredJob | null | undefined, string];
      if (!job) continue;
      mayFind ||= index === count - 1;
      this.deliver(id, tokens[index] ?? '', job);
    }
    for (const one of fetched) if (one.status === 'rejected') throw one.reason;
    return mayFind;
  }

  private get ready(): RedisQueueBackend {
    if (this.mover === undefined) throw new Error('the queue is not prepared');
    return this.mover;
  }

  private deliver(id: string, token: string, { data: text, attemptsStarted }: StoredJob): void {
    const { clock, options, handler } = this.parts;
    const stored = readJob(text);
    if (stored === undefined) {
      this.warnOfDamage(id);
      void this.tell(() =>
        this.complete({ id, token }).catch((error: unknown) => {
          if (!isNotHeld(error)) throw error;
        }),
      );
      return;
    }
    const { data, after } = stored;
    const held: HeldJob = { id, token, attempt: after + attemptsStarted, lost: new AbortController() };
    this.held.add(held);
    // A process died in the last attempt of the job, or this process paused while it was fetched.
    if (held.attempt > options.maxAttempts || this.isPaused) {
      this.settle(held, false);
      return;
    }
    held.limit = clock.schedule(options.maxRunSeconds * 1000, () => {
      this.settle(held, false);
      held.lost.abort();
    });
    const { attempt, lost } = held;
    this.run(
      () => handler({ id, data, attempt, signal: lost.signal }),
      (isDone) => {
        if (!lost.signal.aborted) this.settle(held, isDone);
      },
    );
  }

  /** Deletes a job, or has it delivered again after a pause; neither if it belongs to another process already. */
  private settle(held: HeldJob, isDone: boolean): void {
    const { options } = this.parts;
    const isLast = isDone || held.attempt >= options.maxAttempts;
    const settle = async (): Promise<void> => {
      const settling = isLast ? this.complete(held) : this.postpone(held);
      await settling.catch((error: unknown) => {
        if (!isNotHeld(error)) throw error;
      });
    };
    held.limit?.cancel();
    this.held.remove(held);
    void this.tell(settle);
  }

  private async touch(held: readonly HeldJob[]): Promise<(id: string) => boolean> {
    const [ids, tokens] = [held.map(({ id }) => id), held.map(({ token }) => token)];
    const lost = new Set(await this.ready.extendLocks(ids, tokens, locksOf(this.parts.options).lockMs));
    return (id) => !lost.has(id);
  }

  private complete({ id, token }: Pick<HeldJob, 'id' | 'token'>): Promise<unknown> {
    // The job of a turn may have to be added again: as long as the response has not ended.
    const keep = this.parts.queue === 'turns' ? true : { age: DONE_SECONDS };
    return this.ready.moveToCompleted({ id, opts: {} } as never, null, keep, token, false);
  }

  private postpone({ id, token, attempt }: HeldJob): Promise<unknown> {
    const pauseMs = pauseAfter(attempt, this.parts.options) * 1000;
    return this.ready.moveToDelayed(id, this.parts.engine.now(), pauseMs, token, {
      skipAttempt: true,
      fieldsToUpdate: PRIORITY.again,
    });
  }

  /** Puts jobs of dead processes back into the queue. */
  private async takeOver(): Promise<void> {
    if ((await this.ready.moveStalledJobsToWait()).length > 0) this.wake();
  }
}

/** The data of a stored job; undefined when it is damaged. */
function readJob(text: string): JobData | undefined {
  const stored = parseJson(text);
  if (!isObject(stored) || !isObject(stored['data']) || typeof stored['after'] !== 'number') return undefined;
  return { data: stored['data'], after: stored['after'] };
}

/** Whether a job was not moved because it is another delivery's, or gone. */
function isNotHeld(error: unknown): boolean {
  return error instanceof Error && typeof (error as { readonly code?: unknown }).code === 'number';
}

/** A job that this process holds. */
interface HeldJob extends Held {
  /** Names this delivery. */
  readonly token: string;
  /** Deliveries so far, this one included. */
  readonly attempt: number;
  /** Ends the delivery when it takes too long. */
  limit?: Timer;
}
