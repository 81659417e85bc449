import type { Clock } from '../../../time/index.js';
import { repetitionPause } from '../../repetition-pause.js';
import type { Random } from '../../routing/random.js';
import type { RetryOptions } from '../options.js';
import type { UpstreamError } from '../upstream-error.js';

/** Nothing is repeated. */
export const NO_RETRIES: RetryOptions = { requestMaxRetries: 0, streamMaxRetries: 0, budgetMs: 0 };

/** A repetition of a request. */
export interface Repetition {
  readonly pauseMs: number;
  /** The number of the repetition, from 1, and the most there may be; null for a repetition of one HTTP request only. */
  readonly number: number | null;
  readonly most: number;
}

/**
 * Counts the repetitions of a turn's request (upstreams §5.1). One HTTP request may be repeated `requestMaxRetries` times, a
 * stream `streamMaxRetries` times, all of it within one budget of time from the first failure.
 */
export class Retries {
  /** Whether the request was repeated: then clients must not repeat it too. */
  hasTried = false;
  private requests = 0;
  private streams = 0;
  /** Set by the first failure: however long the first attempt took, it is no repetition. */
  private deadline: number | null = null;

  constructor(
    private readonly options: RetryOptions,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** The next repetition after an error; null if none is left, or if its pause would exceed the budget. */
  next(error: UpstreamError): Repetition | null {
    const { requestMaxRetries, streamMaxRetries } = this.options;
    const { retryAt, isRequestLevel = false } = error.options;
    const isRequest = isRequestLevel && this.requests < requestMaxRetries;
    if (!isRequest && this.streams >= streamMaxRetries) return null;
    const number = isRequest ? (this.requests += 1) : (this.streams += 1);
    if (!isRequest) this.requests = 0;
    const pauseMs =
      retryAt === undefined ? repetitionPause(number, this.random.next()) : Math.max(0, retryAt - this.clock.now());
    if (!this.allows(pauseMs)) return null;
    this.hasTried = true;
    return { pauseMs, number: isRequest ? null : number, most: isRequest ? requestMaxRetries : streamMaxRetries };
  }

  /** Whether `waitMs` more fit into the budget. */
  allows(waitMs: number): boolean {
    const now = this.clock.now();
    this.deadline ??= now + this.options.budgetMs;
    return now + waitMs <= this.deadline;
  }

  /** Begins to count anew, within the same budget: another transport is tried. */
  reset(): void {
    this.requests = 0;
    this.streams = 0;
  }
}
