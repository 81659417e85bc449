import { repetitionPause } from '../repetition-pause.js';
import { ModelError, type RetryHint } from '../model-error.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

/** The longest pause. Targets that request a longer one are not retried; the client receives the delay instead. */
const LONGEST_PAUSE_MS = 10_000;

/** The next target to try, and the pause before it, ms. */
export interface Attempt {
  readonly target: Target;
  readonly pauseMs: number;
}

/** Parameters of Attempts. */
export interface AttemptsOptions {
  readonly random: Random;
  /** The budget: the most attempts, over all targets and rounds. */
  readonly attempts: number;
}

/**
 * The attempts of one turn. All targets are tried in order. Those with a retryable error are tried again in further rounds, with
 * exponential backoff, up to the `retries` of their provider, until the budget of the turn is spent.
 */
export class Attempts {
  private waiting: Target[];
  private again: Target[] = [];
  private round = 0;
  private pauseMs = 0;
  private askedPauseMs = 0;
  private worth: unknown = undefined;
  private made = 0;
  /** Attempts that reached their target. */
  private reached = 0;

  constructor(
    targets: readonly Target[],
    private readonly options: AttemptsOptions,
  ) {
    this.waiting = [...targets];
  }

  /** The next attempt; undefined if none is left. */
  next(): Attempt | undefined {
    if (this.made === this.options.attempts) return undefined;
    if (this.waiting.length === 0) this.beginRound();
    const target = this.waiting.shift();
    if (target === undefined) return undefined;
    const { pauseMs } = this;
    this.pauseMs = 0;
    this.made += 1;
    return { target, pauseMs };
  }

  /** Whether another target follows the one of the latest attempt, if that fails. */
  get hasOthers(): boolean {
    return this.made < this.options.attempts && this.waiting.length > 0;
  }

  /** Records a failed attempt. Throws its error if no retry can help. */
  failed(target: Target, error: unknown): void {
    const hint = hintOf(error);
    if (hint === 'nowhere') throw error;
    if (!(error instanceof ModelError) || error.code !== 'model_unavailable') this.reached += 1;
    if (this.worth === undefined || hasDelay(error) || !hasDelay(this.worth)) this.worth = error;
    const wait = waitOf(error);
    if (hint !== 'same' || target.retries <= this.round || wait > LONGEST_PAUSE_MS) return;
    this.again.push(target);
    this.askedPauseMs = Math.max(this.askedPauseMs, wait);
  }

  /**
   * The error to fail with when no attempt is left; errors with a retry delay take precedence. If several attempts reached a target,
   * clients must not repeat them all: an SDK that retries twice would triple them. But they may wait as long as a target asked for.
   */
  get error(): unknown {
    const { worth, reached, round } = this;
    if (!(worth instanceof ModelError) || reached < 2 || (round === 0 && waitOf(worth) > 0)) return worth;
    return new ModelError(worth.code, worth.message, { ...worth.options, shouldRetry: false });
  }

  private beginRound(): void {
    if (this.again.length === 0) return;
    const pauseMs = repetitionPause(this.round + 1, this.options.random.next());
    this.pauseMs = Math.max(Math.min(pauseMs, LONGEST_PAUSE_MS), this.askedPauseMs);
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
