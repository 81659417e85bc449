import type { Origin } from '../protocol/index.js';
import type { Transcript } from './transcript.js';

/** A response that can be continued, with everything up to and including its output. */
export interface Continuation {
  readonly responseId: string;
  readonly transcript: Transcript;
  readonly origin: Origin | null;
  /** The session it was made in. */
  readonly sessionId: string;
  /** Until when a store has it as well, ms since the epoch: it may be deleted elsewhere. Null: it was never stored. */
  readonly expiresAt: number | null;
}

/** What a transport remembers of its own turns, so that they can be continued without the store, stored or not. */
export interface Continuations {
  find(responseId: string): Continuation | undefined;

  /** A response is about to be stored: if it is deleted from now on, it will not be remembered. */
  expect(responseId: string): void;

  /** It was not stored after all. */
  cancel(responseId: string): void;

  /** Takes a response that has just ended, with the one it continued; a stored one has to be expected. */
  remember(continuation: Continuation, parent: Continuation | null): void;
}
