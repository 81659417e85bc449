import { WatchedClock } from './watched-clock.js';

/** A clock whose time goes by only while somebody sleeps, and then at once; it remembers for how long. */
export class PausingClock extends WatchedClock {
  readonly pauses: number[] = [];

  override async sleep(delayMs: number): Promise<void> {
    this.pauses.push(delayMs);
    // Timers live with it only up to a point, and what never ends has to stop here all the same.
    this.advance(Math.min(delayMs, 60_000));
  }

  /** The pauses since this was asked last. */
  take(): readonly number[] {
    return this.pauses.splice(0);
  }
}
