import type { Tenant } from '../access/index.js';
import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import type { GivenItems } from './given-items.js';
import type { Page, PageRequest } from './page.js';

/** A response as it is kept: the body clients see, the input that belongs to it, and where it hangs in its chain. */
export interface ResponseRecord {
  readonly response: ResponseObject;
  /**
   * Estimated bytes in memory, as of `estimateBytes`, of everything in `response` beside its output, where the caller knows
   * them: settings with many tools are larger than most answers. Else a store that counts bytes measures them with each save.
   */
  readonly settingsBytes?: number;
  /** This request's own input items, oldest first; ancestors keep theirs. */
  readonly input: readonly Item[];
  /** What the transcript got between outputs, ascending by `after`; mostly nothing. Only `chain` shows it. */
  readonly given: readonly GivenItems[];
  readonly parentId: string | null;
  /**
   * Everything before `input`. A store that still has the parent links to it and keeps none of this; one that does not (it
   * was deleted meanwhile, or never stored) keeps these items with the child.
   */
  readonly inherited: readonly Item[];
  readonly origin: Origin | null;
  /** The session it is made in. */
  readonly sessionId: string;
  /** The lease under which the session was held; null when it was not locked. */
  readonly fence: number | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Everything before a continuation, resolved in one go. */
export interface Chain {
  readonly responseId: string;
  /** Input, output and given items of all ancestors and of the response itself, oldest first. */
  readonly items: readonly Item[];
  readonly origin: Origin | null;
  /** The session the response was made in or, where that was deleted, one that shares it. */
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** How a response is deleted. */
export interface DeleteOptions {
  /** Everything that continues it goes as well. */
  readonly cascade: boolean;
}

/**
 * Keeps responses. Every method takes the tenant first: there is no way to ask without one, and what another tenant has is
 * answered like what nobody has. A lookup `within` a session does not find what is outside of it either. Methods throw
 * StoreUnavailableError when the backend cannot answer. Whatever they throw is a rejected promise, also where they mostly
 * return none.
 */
export abstract class ResponseStore {
  /**
   * Throws StoreUnavailableError when it is known already that nothing can be saved: a model need not work for a response
   * that will be lost. Where nothing is known it costs nothing, gives no promise, and guarantees nothing.
   */
  abstract expectSave(): void | Promise<void>;

  /**
   * Keeps a response; once it resolves, or has returned no promise, every replica can read and continue it. Throws
   * SessionLockLostError when the session was taken over since: then nothing is kept.
   */
  abstract save(tenant: Tenant, record: ResponseRecord): void | Promise<void>;

  abstract get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined>;

  /** How many responses went; 0 when there is nothing to delete. Descendants keep the items as context (docs/decisions/2026-11-21-memory-state.md). */
  abstract delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number>;

  /**
   * The transcript up to and including a response that may be continued: completed or incomplete. Throws
   * ContextTooLargeError.
   */
  abstract chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined>;

  /** The items of one request's own input; undefined when the response is not there. Throws UnknownCursorError. */
  abstract inputItems(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<Item> | undefined>;

  /** Stored items by id, of the tenant's responses; those that are not there are left out. Throws ContextTooLargeError. */
  abstract items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>>;

  /** Frees what has expired, of all tenants, in one bounded batch; false when nothing is left to free. */
  abstract purge(): Promise<boolean>;

  /** Resolves when the backend can serve, rejects when it cannot: readiness asks. */
  abstract check(): Promise<void>;
}
