import type { Timer } from '../../src/index.js';
import { FakeClock } from '../../src/testing/index.js';

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
