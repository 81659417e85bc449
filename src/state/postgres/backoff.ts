import type { Clock } from '../../time/index.js';
import { StoreUnavailableError } from '../errors.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5000;

/** Pauses that double with every failure in a row, so that a database that comes back is not overrun. */
export class Backoff {
  private failures = 0;
  private notBefore = 0;

  constructor(private readonly clock: Clock) {}

  /** Whether the last attempt failed. */
  get hasFailed(): boolean {
    return this.failures > 0;
  }

  succeeded(): void {
    this.failures = 0;
    this.notBefore = 0;
  }

  /** Gives the pause to make now, ms: up to a half is left to chance, so that replicas do not come at once. */
  failed(): number {
    // Those that fail together are one failure.
    const left = this.notBefore - this.clock.now();
    if (left > 0) return left;
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** this.failures, LONGEST_PAUSE_MS);
    const pause = longest * (1 - Math.random() / 2);
    this.failures += 1;
    this.notBefore = this.clock.now() + pause;
    return pause;
  }

  /** Throws StoreUnavailableError during a pause. */
  throwIfWaiting(): void {
    if (this.clock.now() < this.notBefore) throw new StoreUnavailableError('the database was not there a moment ago');
  }
}
