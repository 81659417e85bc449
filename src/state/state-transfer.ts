import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { ConversationRecord } from './conversation-store.js';
import type { GivenItems } from './given-items.js';
import type { LogBatch } from './event-log.js';
import type { QueueName } from './job-queue.js';

/** A response as it is moved, visible or only kept for those that continue it. */
export interface MovedResponse {
  readonly kind: 'response';
  /** Without its output if it has not ended. */
  readonly response: ResponseObject;
  readonly input: readonly Item[];
  readonly given: readonly GivenItems[];
  readonly inherited: readonly Item[];
  readonly parentId: string | null;
  readonly origin: Origin | null;
  /** Its conversation, and the number of entries that it had before. */
  readonly place: { readonly conversationId: string; readonly before: number } | null;
  /** The session that it was made in. */
  readonly sessionId: string;
  /** All sessions that share it; none for one that is only kept for others. */
  readonly sessions: readonly string[];
  /** Milliseconds since the epoch; 0: it was deleted. Null: it does not expire before it has ended. */
  readonly expiresAt: number | null;
  /** Null unless it ran, runs or waits in the background. */
  readonly run: {
    /** Empty once it has ended. */
    readonly turn: string;
    readonly isStream: boolean;
    readonly attempt: number;
    readonly attempts: number;
    /** Milliseconds since the epoch; null before the response has ended. */
    readonly logExpiresAt: number | null;
    readonly log: LogBatch;
  } | null;
}

/** A conversation; its entries follow, in parts. */
export interface MovedConversation {
  readonly kind: 'conversation';
  readonly record: ConversationRecord;
  /** Whether it is only kept for responses that were made in it. */
  readonly isDeleted: boolean;
  readonly version: number;
  /** The place of the next entry. */
  readonly end: number;
}

/** Some entries of a conversation, in order. */
export interface MovedEntries {
  readonly kind: 'entries';
  readonly conversationId: string;
  readonly entries: readonly { readonly position: number; readonly isGiven: boolean; readonly item: Item }[];
}

/** A job that is not done. Those of queued and running responses are made anew from the responses. */
export interface MovedJob {
  readonly kind: 'job';
  readonly queue: QueueName;
  readonly id: string;
  readonly data: object;
}

/** What a tenant has, one record at a time: conversations before their responses, responses before those that continue them. */
export type MovedRecord = MovedConversation | MovedEntries | MovedResponse | MovedJob;

/**
 * Reads everything of a state, and writes it into another one. Locks, notices and caches are not moved. Nothing else may
 * use either state meanwhile. Methods throw StoreUnavailableError.
 */
export abstract class StateTransfer {
  abstract tenants(): Promise<readonly Tenant[]>;

  /** Everything of a tenant, in memory only a bounded part at a time. */
  abstract read(tenant: Tenant): AsyncIterable<MovedRecord>;

  /** Stores a record as it is, once: what exists already stays unchanged. False when it existed. */
  abstract write(tenant: Tenant, record: MovedRecord): Promise<boolean>;

  /** The secrets of the service, by name. */
  abstract secrets(): Promise<Readonly<Record<string, string>>>;
}
