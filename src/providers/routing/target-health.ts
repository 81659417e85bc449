import type { Clock } from '../../time/index.js';
import type { Target } from './target.js';

/** Time for which a failed target is tried last, unless it requested longer. */
const REST_MS = 5000;
const LONGEST_REST_MS = 60_000;

/** Tracks targets that failed recently, so that turns try others first. */
export class TargetHealth {
  private readonly restsUntil = new Map<Target, number>();

  constructor(private readonly clock: Clock) {}

  failed(target: Target, retryAfterMs = 0): void {
    const restMs = Math.min(Math.max(REST_MS, retryAfterMs), LONGEST_REST_MS);
    this.restsUntil.set(target, this.clock.now() + restMs);
  }

  answered(target: Target): void {
    this.restsUntil.delete(target);
  }

  isResting(target: Target): boolean {
    return (this.restsUntil.get(target) ?? 0) > this.clock.now();
  }
}
