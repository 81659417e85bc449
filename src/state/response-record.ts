import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { ConversationPlace } from './conversation-store.js';
import type { GivenItems } from './given-items.js';
import type { UsageRecord } from './usage-store.js';

/** A response to store: its body, its input, and its place in the chain. */
export interface ResponseRecord {
  readonly response: ResponseObject;
  /**
   * Estimated bytes in memory, as of `estimateBytes`, of `response` without its output, if known: settings with many
   * tools are larger than most answers. Otherwise a store that counts bytes measures them with each save.
   */
  readonly settingsBytes?: number;
  /** The input items of this request, oldest first, without those of ancestors. */
  readonly input: readonly Item[];
  /** Items given to the model between outputs, ascending by `after`. Only `chain` returns them. */
  readonly given: readonly GivenItems[];
  readonly parentId: string | null;
  /**
   * The transcript before `input`. A store that has the parent links to it and does not save these items; otherwise
   * (the parent was deleted meanwhile, or never stored) it saves them with the response.
   */
  readonly inherited: readonly Item[];
  readonly origin: Origin | null;
  /**
   * The conversation of the response. Its input, output and given items are appended to it in the same transaction; the
   * items of the conversation so far are its context, and `inherited` is empty. `save` also releases its lock.
   */
  readonly conversation: ConversationPlace | null;
  /** The session of the response. */
  readonly sessionId: string;
  /** Most responses that the session may have with this one; without it there is no limit. */
  readonly sessionLimit?: number | undefined;
  /** The fence of the lock of the conversation or, without one, of the session; null when there was none. */
  readonly fence: number | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** What the turn has used; a backend with a UsageStore stores it together with the response, once. */
  readonly usage?: UsageRecord | undefined;
}
