import { SystemClock } from '../../src/time/index.js';

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
