import type { UsageRecord } from '../usage-store.js';

/** An item as it is stored: its id as clients send it, and its JSON. */
export interface ItemText {
  readonly id: string;
  readonly text: string;
}

/** The place of a turn in its conversation (ConversationPlace). */
export interface PlaceText {
  readonly id: string;
  readonly version: number;
  readonly omits: string | null;
}

/** What the end of a response adds to it. */
export interface OutputTexts {
  readonly usage: UsageRecord | null;
  readonly output: readonly ItemText[];
  /** As GivenItems. */
  readonly given: readonly { readonly after: number; readonly items: readonly ItemText[] }[];
}

/**
 * A response for the thread of the database. Names are as clients send them: the thread makes keys of them, which takes
 * time. Texts are JSON, which crosses threads faster than objects.
 */
export interface NewResponse extends OutputTexts {
  readonly tenant: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly sessionId: string;
  /** Most responses that its session may have with this one. */
  readonly sessionLimit?: number | undefined;
  readonly status: string;
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly isContinuable: boolean;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly origin: string | null;
  /** The Response without its output. */
  readonly body: string;
  /** Items before the input, for a response without a stored parent. */
  readonly inherited: readonly string[];
  readonly input: readonly ItemText[];
  readonly conversation: PlaceText | null;
}

/** What became of it. `saved`: also when it was stored before. `unlinked`: its parent is not stored, and nothing is. */
export type SaveOutcome = 'saved' | 'unlinked';

/**
 * A page of items, as `readItems` takes them. Texts cross threads, not objects: clients choose how deep these are, and a thread fails to
 * receive what it could still parse.
 */
export interface ItemPage {
  readonly items: string;
  readonly hasMore: boolean;
}
