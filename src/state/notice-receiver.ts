import { Logger } from '@nestjs/common';

import { Backoff, type Clock } from '../time/index.js';
import { describe } from './driver-errors.js';
import type { DeletionNotices, RunNotices } from './notices.js';
import { PAUSES } from './repeat.js';

/** How often the connection is checked, ms: it is otherwise idle while nothing happens. */
const CHECK_INTERVAL_MS = 15_000;

/** A connection on which notices arrive. */
export interface NoticeConnection {
  /** Resolves when notices arrive from now on. */
  open(): Promise<unknown>;
  /** Rejects when the connection is dead. */
  check(): Promise<unknown>;
  close(): void;
}

/** Receives the notices of all replicas on a connection of its own, which is made anew when it is lost. */
export abstract class NoticeReceiver {
  protected readonly logger: Logger;
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private running: Promise<void> = Promise.resolve();
  private isReceiving = true;

  constructor(
    protected readonly deletions: DeletionNotices,
    protected readonly runs: RunNotices,
    private readonly clock: Clock,
  ) {
    this.logger = new Logger(new.target.name);
    this.backoff = new Backoff(clock, PAUSES);
  }

  /** Connects; the notices of deletions are interrupted until then. */
  start(): void {
    this.deletions.interrupt();
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Makes a connection, which calls `lose` when it is lost. `attempt`: from 0. What it throws is a connection that is lost. */
  protected abstract connect(attempt: number, lose: (reason: Error) => void): NoticeConnection;

  /** An error of the connection in one line. */
  protected reasonOf(error: unknown): string {
    return describe(error);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await this.receive(attempt, signal);
      } catch (error) {
        // Logged once, not with every attempt.
        if (!this.stopping.signal.aborted && this.isReceiving) {
          this.logger.warn(`notices of other replicas are not received: ${this.reasonOf(error)}`);
        }
        this.isReceiving = false;
      }
      this.deletions.interrupt();
      await this.clock.sleep(this.backoff.failed(), signal);
    }
  }

  /** Receives notices until the connection is lost, and rejects then. */
  private async receive(attempt: number, signal: AbortSignal): Promise<never> {
    const { promise: loss, reject: lose } = Promise.withResolvers<never>();
    loss.catch(() => undefined);
    const connection = this.connect(attempt, lose);
    const stop = (): void => lose(new Error('the service is stopping'));
    signal.addEventListener('abort', stop, { once: true });
    const check = this.clock.schedule(CHECK_INTERVAL_MS, () => {
      connection.check().then(() => check.refresh(), lose);
    });
    try {
      await Promise.race([connection.open(), loss]);
      this.backoff.succeeded();
      this.deletions.resume();
      this.runs.announceResumed();
      if (!this.isReceiving) this.logger.log('notices of other replicas are received again');
      this.isReceiving = true;
      return await loss;
    } finally {
      check.cancel();
      signal.removeEventListener('abort', stop);
      connection.close();
    }
  }
}
