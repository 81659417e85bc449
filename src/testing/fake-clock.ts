import { Clock, type Timer } from '../time/index.js';

interface FakeTimer {
  dueAt: number;
  readonly callback: () => void;
}

/** A clock that is advanced by tests. */
export class FakeClock extends Clock {
  private readonly timers = new Set<FakeTimer>();

  /** `milliseconds` since the Unix epoch. */
  constructor(private milliseconds = Date.UTC(2026, 0, 1)) {
    super();
  }

  override now(): number {
    return this.milliseconds;
  }

  override schedule(delayMs: number, callback: () => void): Timer {
    const timer: FakeTimer = { dueAt: this.milliseconds + delayMs, callback };
    let cancelled = false;
    this.timers.add(timer);
    return {
      refresh: () => {
        timer.dueAt = this.milliseconds + delayMs;
        if (!cancelled) this.timers.add(timer);
      },
      cancel: () => {
        cancelled = true;
        this.timers.delete(timer);
      },
    };
  }

  /** Number of pending timers. */
  get pending(): number {
    return this.timers.size;
  }

  /** Advances the time and calls the timers that become due, in order. */
  advance(milliseconds: number): void {
    const until = this.milliseconds + milliseconds;
    for (;;) {
      const due = [...this.timers].filter(({ dueAt }) => dueAt <= until).sort((a, b) => a.dueAt - b.dueAt)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      this.milliseconds = Math.max(this.milliseconds, due.dueAt);
      due.callback();
    }
    this.milliseconds = until;
  }
}
