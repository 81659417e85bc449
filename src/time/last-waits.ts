import { Injectable } from '@nestjs/common';

import { Clock } from './clock.js';

/**
 * Time limit for all of them together, ms. Before them clients have four seconds for their last bytes, and after them the state has two to
 * close: less than SHUTDOWN_MARGIN_MS by default.
 */
const LAST_WAITS_MS = 3000;

/** What the hooks of a shutdown wait for that may never come, such as the answer of a database: hooks run one after another, so that limits of their own would add up. */
@Injectable()
export class LastWaits {
  private endsAt: number | null = null;

  constructor(private readonly clock: Clock) {}

  /**
   * Waits for the end of work until the time of all is over, which begins with the first. Returns whether it has ended; throws its rejection
   * within that time.
   */
  async wait(work: Promise<unknown>): Promise<boolean> {
    const now = this.clock.now();
    this.endsAt ??= now + LAST_WAITS_MS;
    // A clock that was set back must not give more time.
    return (await this.clock.within(work, Math.min(Math.max(0, this.endsAt - now), LAST_WAITS_MS))) !== undefined;
  }
}
