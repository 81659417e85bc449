import { FakeClock } from '../../src/testing/index.js';

/** A clock on which nobody waits: who would sleep moves the time on instead. */
export class SkippingClock extends FakeClock {
  override async sleep(delayMs: number): Promise<void> {
    this.advance(delayMs);
  }
}
