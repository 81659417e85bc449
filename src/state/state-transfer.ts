import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { ConversationRecord } from './conversation-store.js';
import type { LogBatch } from './event-log.js';
import type { GivenItems } from './given-items.js';
import type { QueueName } from './job-queue.js';

/** A response as it is moved, visible or only kept for those that continue it. */
export interface MovedResponse {
  readonly kind: 'response';
  /** Without its output if it has not ended. */
  readonly response: ResponseObject;
  readonly input: readonly Item[];
  readonly given: readonly GivenItems[];
  readonly inherited: readonly Item[];
  /** The response that it continues and whose items it needs, visible or not. */
  readonly parentId: string | null;
  readonly origin: Origin | null;
  /** The conversation of the response, and the position there before which its context ends. */
  readonly place: { readonly conversationId: string; readonly before: number } | null;
  /** The session that it was made in. */
  readonly sessionId: string;
  /** All sessions that share it; none for one that is only kept for others. */
  readonly sessions: readonly string[];
  /** Milliseconds since the epoch; 0: it was deleted. Null: it does not expire before it has ended. */
  readonly expiresAt: number | null;
  /** Null unless it ran, runs or waits in the background. */
  readonly run: MovedRun | null;
}

/** The run of a background response. Its attempts are numbered anew: its job is, too. */
export interface MovedRun {
  /** Empty once it has ended. */
  readonly turn: string;
  readonly isStream: boolean;
  /** Attempts so far, without those that were handed back. */
  readonly attempts: number;
  /** Milliseconds since the epoch, 0 if its events are gone; null before the response has ended. */
  readonly logExpiresAt: number | null;
  readonly log: LogBatch;
}

/** A conversation; its entries follow, in parts. */
export interface MovedConversation {
  readonly kind: 'conversation';
  readonly record: ConversationRecord;
  /** Whether it is only kept for responses that were made in it. */
  readonly isDeleted: boolean;
  readonly version: number;
  /** The position of the next entry. */
  readonly end: number;
}

/** An entry of a conversation. */
export interface MovedEntry {
  readonly position: number;
  readonly isGiven: boolean;
  readonly item: Item;
}

/** Some entries of a conversation, in order. */
export interface MovedEntries {
  readonly kind: 'entries';
  readonly conversationId: string;
  /** The version of the conversation: entries of another one are not added to it. */
  readonly version: number;
  readonly entries: readonly MovedEntry[];
}

/** What a tenant has. */
export type MovedRecord = MovedConversation | MovedEntries | MovedResponse;

/** A job that is not done: a background turn that is queued or runs, or a webhook. */
export interface MovedJob {
  readonly kind: 'job';
  readonly queue: QueueName;
  /** A UUID. */
  readonly id: string;
  /** The member `tenant` says whose the job is. */
  readonly data: object;
}

/** A state cannot be moved as asked; the message is one sentence for the operator. */
export class StateTransferError extends Error {
  override readonly name = 'StateTransferError';
}

/**
 * Reads everything of a state, and writes it into another one. Locks, notices and caches are not moved. No service may
 * use either state meanwhile. Secrets are written by SecretStore. Methods throw StoreUnavailableError and
 * StateTransferError.
 */
export abstract class StateTransfer {
  /** All that have something. */
  abstract tenants(): Promise<readonly Tenant[]>;

  /**
   * Everything of a tenant as of one moment, in memory only a bounded part at a time: conversations before their responses,
   * responses before those that continue them, otherwise in the order of their creation.
   */
  abstract read(tenant: Tenant): AsyncIterable<MovedRecord>;

  /** The jobs of all tenants, oldest first. */
  abstract jobs(): AsyncIterable<MovedJob>;

  /** The secrets of the service, by name. */
  abstract secrets(): Promise<Readonly<Record<string, string>>>;

  /**
   * Stores records as they are, in order, all or none; what exists already stays unchanged. Returns how many responses and
   * conversations are new.
   */
  abstract write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number>;

  /** Enqueues jobs, after the responses that they belong to; those that exist already stay unchanged. */
  abstract writeJobs(jobs: readonly MovedJob[]): Promise<void>;
}
