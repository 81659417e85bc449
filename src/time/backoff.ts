import type { Clock } from './clock.js';

/** The pauses of a Backoff, ms. */
export interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Pauses that double with every consecutive failure. */
export class Backoff {
  private failures = 0;
  private notBefore = 0;

  constructor(
    private readonly clock: Clock,
    private readonly pauses: Pauses,
  ) {}

  /** Whether the last attempt failed. */
  get hasFailed(): boolean {
    return this.failures > 0;
  }

  /** Whether the pause after the last failure is not over. */
  get isWaiting(): boolean {
    return this.leftMs > 0;
  }

  succeeded(): void {
    this.failures = 0;
    this.notBefore = 0;
  }

  /**
   * Records a failure and returns the pause before the next attempt, whole ms, which databases take as a time. Up to half of it is
   * random, so that retries are spread.
   */
  failed(): number {
    // Concurrent failures count once.
    const left = this.leftMs;
    if (left > 0) return left;
    const { firstMs, longestMs } = this.pauses;
    const longest = Math.min(firstMs * 2 ** this.failures, longestMs);
    const pause = Math.ceil(longest * (1 - Math.random() / 2));
    this.failures += 1;
    this.notBefore = this.clock.now() + pause;
    return pause;
  }

  /** What is left of the pause, ms. */
  get leftMs(): number {
    const left = this.notBefore - this.clock.now();
    // No pause is longer: the clock was set back.
    return left > this.pauses.longestMs ? 0 : left;
  }
}
