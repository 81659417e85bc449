import { ModelError, type RetryHint } from '../model-error.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

/** The first pause; each further one is twice as long. */
const FIRST_PAUSE_MS = 200;
/** Who asks to be left alone for longer is not waited for: the client is told instead. */
const LONGEST_PAUSE_MS = 10_000;

/** What to try next, and how long to wait before, ms. */
export interface Attempt {
  readonly target: Target;
  readonly pauseMs: number;
}

/**
 * The attempts of one turn. All targets are tried in their order; those that may do better when asked again are tried again, after a
 * pause that grows, as often as their provider says.
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

  /** Undefined when nothing is left to try. */
  next(): Attempt | undefined {
    if (this.waiting.length === 0) this.beginRound();
    const target = this.waiting.shift();
    if (target === undefined) return undefined;
    const { pauseMs } = this;
    this.pauseMs = 0;
    return { target, pauseMs };
  }

  /** Notes how an attempt failed. Throws what it failed with when no other attempt may help. */
  failed(target: Target, error: unknown): void {
    const hint = hintOf(error);
    if (hint === 'nowhere') throw error;
    if (this.worth === undefined || hasDelay(error) || !hasDelay(this.worth)) this.worth = error;
    const wait = waitOf(error);
    if (hint !== 'same' || target.retries <= this.round || wait > LONGEST_PAUSE_MS) return;
    this.again.push(target);
    this.askedPauseMs = Math.max(this.askedPauseMs, wait);
  }

  /** What to fail with when nothing is left: preferably what tells the client how long to wait. */
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

/** An error that a provider did not mean for clients is its own fault: another one may not have it. */
function hintOf(error: unknown): RetryHint {
  return error instanceof ModelError ? error.retry : 'other';
}

/** How long a target wants to be left alone, ms. */
export function waitOf(error: unknown): number {
  if (!(error instanceof ModelError)) return 0;
  const { upstreamWaitMs, retryAfterMs } = error.options;
  return upstreamWaitMs ?? retryAfterMs ?? 0;
}

function hasDelay(error: unknown): boolean {
  return error instanceof ModelError && error.options.retryAfterMs !== undefined;
}
