import { FakeClock } from '../fake-clock.js';

const TICK_MS = 10;

/** A clock that follows real time and can be advanced in addition. */
export class RunningClock extends FakeClock {
  private readonly startedAt = performance.now();
  private passedMs = 0;
  private readonly ticker = setInterval(() => this.tick(), TICK_MS).unref();

  constructor() {
    super(Date.now());
  }

  /** Stops following real time. */
  stop(): void {
    clearInterval(this.ticker);
  }

  private tick(): void {
    const passedMs = Math.floor(performance.now() - this.startedAt);
    this.advance(passedMs - this.passedMs);
    this.passedMs = passedMs;
  }
}
