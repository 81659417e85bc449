import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { Page, PageRequest } from './page.js';
import type { ConversationPlace } from './conversation-store.js';
import type { GivenItems } from './given-items.js';
import type { UsageRecord } from './usage-store.js';

/** The transcript up to a response, with its metadata. */
export interface Chain {
  readonly responseId: string;
  /** Input, output and given items of all ancestors and of the response itself, oldest first. */
  readonly items: readonly Item[];
  readonly origin: Origin | null;
  /** Whether one of its responses was made in a conversation, whose items may be deleted. */
  readonly isInConversation: boolean;
  /** The session of the response or, if it left that one, another session that shares it. */
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Options of a deletion. */
export interface DeleteOptions {
  /** Also deletes all responses that continue it. */
  readonly cascade: boolean;
}

/**
 * Stores responses. Every method takes the tenant first, and other tenants' responses are not found. With `within`,
 * responses outside of the session are not found either. Methods throw StoreUnavailableError when the backend is
 * unavailable; errors are always rejected promises, also from methods that usually return none.
 */
export abstract class ResponseStore {
  /**
   * Throws StoreUnavailableError when a save is already known to be impossible, so that no model works for a response
   * that would be lost. Otherwise it costs nothing, returns no promise, and guarantees nothing.
   */
  abstract expectSave(): void | Promise<void>;

  /**
   * Saves a response; once it resolves, or has returned no promise, every replica can read and continue it. Throws
   * WriteLockLostError, and saves nothing, when the session lock was lost, and SessionFullError.
   */
  abstract save(tenant: Tenant, record: ResponseRecord): void | Promise<void>;

  abstract get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined>;

  /**
   * Replaces the metadata of a response that is completed or incomplete, by which lists find it from then on. Resolves with the response;
   * undefined when there is none such.
   */
  abstract updateMetadata(
    tenant: Tenant,
    responseId: string,
    metadata: ResponseObject['metadata'],
    within?: string,
  ): Promise<ResponseObject | undefined>;

  /**
   * Returns the number of deleted responses. The items of a deleted response remain part of the context of its
   * descendants (docs/decisions/2026-11-21-memory-state.md).
   */
  abstract delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number>;

  /**
   * The transcript up to and including a response that may be continued: completed or incomplete. Throws
   * ContextTooLargeError.
   */
  abstract chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined>;

  /** The input items of one request; undefined when the response is not found. Throws UnknownCursorError. */
  abstract inputItems(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<Item> | undefined>;

  /** Stored items of the tenant's responses by id; items that are not found are omitted. Throws ContextTooLargeError. */
  abstract items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>>;

  /** Frees expired responses of all tenants in one bounded batch; false when nothing is left. */
  abstract purge(): Promise<boolean>;

  /** Resolves when the backend is available, rejects otherwise; used by `/readyz`. */
  abstract check(): Promise<void>;
}

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
