import cluster from 'node:cluster';

import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';

import { describeShutdown, Environment, INTERRUPTED, longestShutdownMs } from '../config/index.js';
import { backendsOf, LibraryBackend, StateBackend } from '../state/index.js';
import { Clock, Interrupts } from '../time/index.js';

/** The signals on which the service shuts down. */
export const SHUTDOWN_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** How long the state may hold the exit of the process, ms. */
const LAST_STATEMENT_MS = 500;

/** Ends the process when a shutdown by a signal takes too long, because a hook of the program hangs, or on a second Ctrl+C. */
@Injectable()
export class ShutdownLimit implements OnApplicationShutdown {
  private readonly logger = new Logger('Shutdown');
  private hasBegun = false;
  private readonly interrupts: Interrupts;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly backend: StateBackend,
    private readonly library: LibraryBackend,
  ) {
    this.interrupts = new Interrupts(clock, {
      first: () => this.logger.log(describeShutdown(environment)),
      again: () => {
        this.logger.warn('stopping now: running turns are cut off');
        void this.end(INTERRUPTED);
      },
    });
  }

  /** Waits for a signal itself: hooks are called one after another, and another module's may hang before any of ours. */
  listen(): void {
    for (const signal of SHUTDOWN_SIGNALS) process.on(signal, this.begin);
    // The process that supervises workers speaks for them.
    if (!cluster.isWorker) process.on('SIGINT', this.onInterrupt);
  }

  /** Without a signal the program closes the application, and goes on as it likes. */
  onApplicationShutdown(signal?: string): void {
    if (signal !== undefined) return;
    for (const each of SHUTDOWN_SIGNALS) process.off(each, this.begin);
    process.off('SIGINT', this.onInterrupt);
  }

  private readonly onInterrupt = (): void => this.interrupts.arrived();

  private readonly begin = (): void => {
    if (this.hasBegun) return;
    this.hasBegun = true;
    const limitMs = longestShutdownMs(this.environment);
    this.clock.schedule(limitMs, () => {
      this.logger.error(`the shutdown takes longer than ${limitMs} ms: ending the process`);
      void this.end(1);
    });
  };

  /** Ends the process. Node waits at its exit for the thread of SQLite, which a long statement or a disk that hangs may hold: then it is killed. */
  private async end(code: number): Promise<void> {
    const backends = [...backendsOf(this.backend, this.library)];
    const abandoned = Promise.all(backends.map(async (backend) => backend.abandon?.())).catch(() => undefined);
    if ((await this.clock.within(abandoned, LAST_STATEMENT_MS)) === undefined) process.kill(process.pid, 'SIGKILL');
    process.exit(code);
  }
}
