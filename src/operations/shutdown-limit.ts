import cluster from 'node:cluster';

import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';

import { describeShutdown, Environment, INTERRUPTED, longestShutdownMs } from '../config/index.js';
import { Clock, Interrupts } from '../time/index.js';

/** The signals on which the service shuts down. */
export const SHUTDOWN_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Ends the process when a shutdown by a signal takes too long, because a hook of the program hangs, or on a second Ctrl+C. */
@Injectable()
export class ShutdownLimit implements OnApplicationShutdown {
  private readonly logger = new Logger('Shutdown');
  private hasBegun = false;
  private readonly interrupts: Interrupts;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {
    this.interrupts = new Interrupts(clock, {
      first: () => this.logger.log(describeShutdown(environment)),
      again: () => {
        this.logger.warn('stopping now: running turns are cut off');
        process.exit(INTERRUPTED);
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
      process.exit(1);
    });
  };
}
