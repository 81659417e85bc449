import type { Timer } from '../../src/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { SystemClock } from '../../src/time/index.js';

/** A clock that stands still, tells when somebody sets a timer of a given length, and can be let go for the shutdown. */
export class WatchedClock extends FakeClock {
  private readonly waiting: { readonly delayMs: number; readonly wake: () => void }[] = [];
  private free = false;

  override schedule(delayMs: number, callback: () => void): Timer {
    const timer = super.schedule(delayMs, callback);
    for (const waiter of [...this.waiting]) {
      if (waiter.delayMs !== delayMs) continue;
      this.waiting.splice(this.waiting.indexOf(waiter), 1);
      waiter.wake();
    }
    if (this.free) setImmediate(() => this.advance(delayMs));
    return timer;
  }

  /** Resolves when the next timer of exactly this length is set. */
  whenScheduled(delayMs: number): Promise<void> {
    return new Promise((wake) => this.waiting.push({ delayMs, wake }));
  }

  /** From now on every new timer is due at once: a service cannot shut down while its clock stands still. */
  letGo(): void {
    this.free = true;
  }
}

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

/** The system clock, which can be set forward. Timers are not called earlier. */
export class ShiftedClock extends SystemClock {
  private shiftMs = 0;

  override now(): number {
    return super.now() + this.shiftMs;
  }

  /** Sets it forward. */
  skip(milliseconds: number): void {
    this.shiftMs += milliseconds;
  }
}
