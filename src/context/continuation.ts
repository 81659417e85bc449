import type { Origin } from '../protocol/index.js';
import type { ConversationPlace } from '../state/index.js';
import type { Transcript } from './transcript.js';

/** A response that can be continued, with its transcript including its output. */
export interface Continuation {
  readonly responseId: string;
  readonly transcript: Transcript;
  readonly origin: Origin | null;
  /** The conversation to which the response was appended, with its version since. */
  readonly conversation: ConversationPlace | null;
  /** Whether it, or a response before it, was made in a conversation, whose items may be deleted. */
  readonly isInConversation: boolean;
  /** The session of the response. */
  readonly sessionId: string;
  /** When the stored response expires, ms since the epoch; it may be deleted by another replica. Null: not stored. */
  readonly expiresAt: number | null;
}

/** The recent responses of a transport, so that they can be continued without the store, stored or not. */
export interface Continuations {
  find(responseId: string): Continuation | undefined;
  /** The latest known response of a conversation; it is outdated if the conversation has another version. */
  findConversation(conversationId: string): Continuation | undefined;

  /** The save of a response begins: if it is deleted from now on, it will not be remembered. */
  beginSave(responseId: string): void;

  /** The save failed. */
  cancelSave(responseId: string): void;

  /** Adds a response that has just ended, with the one it continued; a stored one only after `beginSave`. */
  remember(continuation: Continuation, parent: Continuation | null): void;
}
