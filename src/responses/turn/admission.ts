import type { Caller } from '../../access/index.js';
import type { Usage } from '../../protocol/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { AdmittedTurn } from './admit.js';
import type { TurnEstimate } from './turn-estimate.js';
import type { TurnRecord } from './turn-observer.js';

/** The permission for a turn to run. */
export interface Lease {
  /** Headers for the client, such as `x-ratelimit-remaining-tokens`; only names that begin with `x-` reach it. */
  readonly headers?: Readonly<Record<string, string>>;

  /**
   * Called at most once, when it is known what the turn continues and refers to, before its model is asked: `tokens` is what
   * `TurnEstimate.inputTokens` did not know. Throws ApiError, which the client reads; the headers that it
   * returns take the place of those above.
   */
  reserve?(tokens: number): MaybePromise<Readonly<Record<string, string>> | undefined>;

  /**
   * Releases the permission. Called exactly once, however the turn ended, with its usage: null when none is known, for
   * example after a refusal. `status` says how it ended; a background turn that goes back to its queue is `refused` or
   * `disconnected`. Not awaited; errors are logged.
   */
  release(usage: Usage | null, status: TurnRecord['status']): MaybePromise<void>;
}

/** What an Admission has counted for a turn that is queued. */
export interface QueuedTurn {
  /** Headers for the client, as those of a lease. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Stored with the turn: `turn.receipt` of every call that follows. JSON. */
  readonly receipt?: Readonly<Record<string, unknown>>;
}

/** A request for embeddings. */
export interface AdmittedEmbedding {
  readonly caller: Caller;
  readonly model: string;
  /** Of all its inputs, at four characters a token. */
  readonly inputTokens: number;
}

/** Decides whether a turn may run now. Implement it for limits and quotas of your own; the default is `LimitedAdmission`. */
export abstract class Admission {
  /**
   * Returns a lease when the turn may run, synchronously or as a promise; throws ApiError (429, 503) when it may not.
   * An implementation that queues must give up when `signal` aborts: the turn has ended. `estimate` is computed on
   * access.
   */
  abstract acquire(turn: AdmittedTurn, estimate: TurnEstimate, signal: AbortSignal): MaybePromise<Lease>;

  /**
   * Decides whether a background turn may be queued, when it is created; `acquire` decides each time it is to run. Throws ApiError,
   * which the client reads. Without it every turn may be queued.
   */
  queue?(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<QueuedTurn>;

  /**
   * Decides whether a request for embeddings may run. Throws ApiError, which the client reads, or returns headers for it, as those of a
   * lease. Without it every request may run.
   */
  embed?(request: AdmittedEmbedding): MaybePromise<Readonly<Record<string, string>>>;

  /**
   * A queued turn ends outside of a run: it could not be stored, was cancelled, or has failed in the queue. `usage` is what its runs
   * have reported so far. Not awaited; errors are logged.
   */
  dequeue?(turn: AdmittedTurn, usage: Usage | null): MaybePromise<void>;
}
