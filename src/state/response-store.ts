import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { Page, PageRequest } from './page.js';
import type { ResponseRecord } from './response-record.js';

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
