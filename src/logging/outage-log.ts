import type { Logger } from '@nestjs/common';

import { type Clock, SystemClock } from '../time/index.js';
import { LineBudget } from './line-budget.js';

const WINDOW_MS = 60_000;

/** Logs warnings that an outage causes with every request: one line a minute per reason, and how many more there were. */
export class OutageLog {
  private readonly budget: LineBudget;

  constructor(
    private readonly logger: Logger,
    clock: Clock = new SystemClock(),
  ) {
    const report = (reason: string, leftOut: number): void =>
      this.logger.warn(`${leftOut} more in the last minute: ${reason}`);
    this.budget = new LineBudget({ lines: 1, windowMs: WINDOW_MS, report }, clock);
  }

  /** Warns of `what`, such as a request that failed, unless there was a warning for the same reason within a minute. */
  warn(what: string, reason: string): void {
    if (this.budget.admits(reason)) this.logger.warn(`${what}: ${reason}`);
  }
}
