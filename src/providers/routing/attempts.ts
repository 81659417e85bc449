import { ModelError, type RetryHint } from '../model-error.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

/** The first pause; it doubles with each round. */
const FIRST_PAUSE_MS = 200;
/** The longest pause. Targets that request a longer one are not retried; the client receives the delay instead. */
const LONGEST_PAUSE_MS = 10_000;

/** The next target to try, and the pause before it, ms. */
export interface Attempt {
  readonly target: Target;
  readonly pauseMs: number;
}

/**
 * The attempts of one turn. All targets are tried in order. Those with a retryable error are tried again in further rounds, with
 * exponential backoff, up to the `retries` of their provider.
 */
export class Attempts {
  private waiting: Target[];
  private again: Target[] = [];
  private round = 0;
  private pauseMs = 0;
  private askedPauseMs = 0;
  private worth: unknown = undefined;

  constructor(
    targets: readonly Target[],
    private readonly random: Random,
  ) {
    this.waiting = [...targets];
  }

  /** The next attempt; undefined if none is left. */
  next(): Attempt | undefined {
    if (this.waiting.length === 0) this.beginRound();
    const target = this.waiting.shift();
    if (target === undefined) return undefined;
    const { pauseMs } = this;
    this.pauseMs = 0;
    return { target, pauseMs };
  }

  /** Records a failed attempt. Throws its error if no retry can help. */
  failed(target: Target, error: unknown): void {
    const hint = hintOf(error);
    if (hint === 'nowhere') throw error;
    if (this.worth === undefined || hasDelay(error) || !hasDelay(this.worth)) this.worth = error;
    const wait = waitOf(error);
    if (hint !== 'same' || target.retries <= this.round || wait > LONGEST_PAUSE_MS) return;
    this.again.push(target);
    this.askedPauseMs = Math.max(this.askedPauseMs, wait);
  }

  /** The error to fail with when no attempt is left; errors with a retry delay take precedence. */
  get error(): unknown {
    return this.worth;
  }

  private beginRound(): void {
    const backoff = FIRST_PAUSE_MS * 2 ** this.round * (0.9 + this.random.next() * 0.2);
    this.pauseMs = Math.max(Math.min(backoff, LONGEST_PAUSE_MS), this.askedPauseMs);
    this.waiting = this.again;
    this.again = [];
    this.askedPauseMs = 0;
    this.round += 1;
  }
}

/** Errors other than ModelError are internal to a provider, so another one may succeed. */
function hintOf(error: unknown): RetryHint {
  return error instanceof ModelError ? error.retry : 'other';
}

/** The delay that a target requested, ms. What a program's provider gives may be no number. */
export function waitOf(error: unknown): number {
  if (!(error instanceof ModelError)) return 0;
  const { upstreamWaitMs, retryAfterMs } = error.options;
  const asked = upstreamWaitMs ?? retryAfterMs ?? 0;
  return asked > 0 ? asked : 0;
}

function hasDelay(error: unknown): boolean {
  return error instanceof ModelError && error.options.retryAfterMs !== undefined;
}
