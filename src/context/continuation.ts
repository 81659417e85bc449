import type { Origin } from '../providers/index.js';
import type { Conversation } from './conversation.js';

/** A response that can be continued, with everything up to and including its output. */
export interface Continuation {
  readonly responseId: string;
  readonly conversation: Conversation;
  readonly origin: Origin | null;
  /** The session it was made in. */
  readonly sessionId: string;
  /** Until when a store has it as well, ms since the epoch: it may be deleted elsewhere. Null: it was never stored. */
  readonly expiresAt: number | null;
}

/** What a transport remembers of its own turns, so that they can be continued without the store, stored or not. */
export interface Continuations {
  find(responseId: string): Continuation | undefined;

  /** Takes a response that has just ended, with the one it continued. */
  remember(continuation: Continuation, parent: Continuation | null): void;
}
