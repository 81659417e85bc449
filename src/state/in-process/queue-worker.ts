import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import { JobHandedBackError } from '../errors.js';
import { type Job, pauseAfter, type QueueOptions, type QueueWorker } from '../job-queue.js';
import type { JobJournal } from './job-journal.js';
import type { WaitingJob, WaitingJobs } from './waiting-jobs.js';

/** What a worker needs. */
export interface InProcessWorkerParts {
  readonly waiting: WaitingJobs;
  readonly journal: JobJournal | null;
  readonly clock: Clock;
  readonly options: QueueOptions & { readonly concurrency: number };
  readonly handler: (job: Job) => Promise<void>;
}

/** Takes the jobs of a queue in this process. */
export class InProcessQueueWorker implements QueueWorker {
  private readonly failures = new OutageLog(new Logger('JobQueue'));
  private readonly running = new Set<Promise<void>>();
  private isPaused = false;
  private isWoken = false;

  constructor(private readonly parts: InProcessWorkerParts) {}

  /** There may be jobs that wait. */
  wake(): void {
    if (this.isWoken) return;
    this.isWoken = true;
    queueMicrotask(() => {
      this.isWoken = false;
      this.takeAll();
    });
  }

  pause(): void {
    this.isPaused = true;
    this.parts.waiting.takers.delete(this);
  }

  async stop(): Promise<void> {
    this.pause();
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private takeAll(): void {
    const { waiting, options } = this.parts;
    while (!this.isPaused && this.running.size < options.concurrency) {
      const job = waiting.take();
      if (job === undefined) return;
      const running = this.deliver(job).then(() => {
        this.running.delete(running);
        this.wake();
      });
      this.running.add(running);
    }
  }

  /** Resolves when the handler has ended; never rejects. */
  private async deliver(job: WaitingJob): Promise<void> {
    const { journal, clock, options, handler } = this.parts;
    const expired = new AbortController();
    // Another delivery follows, and what this one comes to does not count.
    const limit = clock.schedule(options.maxRunSeconds * 1000, () => {
      expired.abort();
      this.deliverAgain(job);
    });
    job.attempts += 1;
    // Not awaited: the journal has it before anything that the handler stores.
    this.note(journal?.delivered(job.id, job.attempts));
    try {
      await handler({ data: job.data, attempt: job.attempts, signal: expired.signal });
      if (!expired.signal.aborted) this.note(journal?.ended(job.id));
    } catch (error) {
      if (!(error instanceof JobHandedBackError)) this.failures.warn('a job failed', String(error));
      if (!expired.signal.aborted) this.deliverAgain(job);
    } finally {
      limit.cancel();
    }
  }

  private deliverAgain(job: WaitingJob): void {
    const { waiting, journal, clock, options } = this.parts;
    if (job.attempts < options.maxAttempts) {
      clock.schedule(pauseAfter(job.attempts, options) * 1000, () => waiting.add(job));
    } else {
      this.note(journal?.ended(job.id));
    }
  }

  /** What the journal does not take has a job delivered once more after a restart, at worst. */
  private note(noted: Promise<void> | undefined): void {
    noted?.catch((error: unknown) => this.failures.warn('a job could not be noted', String(error)));
  }
}
