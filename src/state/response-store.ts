import type { Owner } from '../access/index.js';
import { ApiError, type Item, type ResponseObject } from '../protocol/index.js';
import type { Origin } from '../providers/index.js';

/** A response as it is kept: the body clients see, the input that belongs to it, and where it hangs in its chain. */
export interface ResponseRecord {
  readonly response: ResponseObject;
  /** This request's own input items, oldest first; ancestors keep theirs. */
  readonly input: readonly Item[];
  readonly parentId: string | null;
  /**
   * Everything before `input`. A store that still has the parent links to it and keeps none of this; one that does not (it
   * was deleted meanwhile, or never stored) keeps these items with the child.
   */
  readonly inherited: readonly Item[];
  readonly origin: Origin | null;
}

/** Everything before a continuation, resolved in one go. */
export interface Chain {
  readonly responseId: string;
  /** Input and output items of all ancestors and of the response itself, oldest first. */
  readonly items: readonly Item[];
  readonly origin: Origin | null;
}

/** A page of a list, after or before an id. */
export interface PageRequest {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Exclusive; an id that is not in the list is a fault of the caller. */
  readonly after?: string;
}

/** One page, and whether there is more behind it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly hasMore: boolean;
}

/** A store that cannot take a record just now or never will: the turn that made it fails. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';

  /** What a client gets to know of it. */
  toApiError(): ApiError {
    return ApiError.retryLater('The storage is not available. Please retry your request.', this);
  }
}

/** `after` names nothing in the list. */
export class UnknownCursorError extends Error {
  override readonly name = 'UnknownCursorError';

  constructor(readonly cursor: string) {
    super(`there is no item ${cursor} in the list`);
  }
}

/**
 * Keeps responses. Every method takes the owner first: there is no way to ask without one, and what another owner has is
 * answered like what nobody has. Methods throw StoreUnavailableError when the backend cannot answer.
 */
export abstract class ResponseStore {
  /** Keeps a response; once it resolves, every replica can read and continue it. */
  abstract save(owner: Owner, record: ResponseRecord): Promise<void>;

  abstract get(owner: Owner, responseId: string): Promise<ResponseObject | undefined>;

  /** False when there is nothing to delete. Descendants keep the items as context (docs/decisions). */
  abstract delete(owner: Owner, responseId: string): Promise<boolean>;

  /** The conversation up to and including a response that may be continued: completed or incomplete. */
  abstract chain(owner: Owner, responseId: string): Promise<Chain | undefined>;

  /** The items of one request's own input; undefined when the response is not there. */
  abstract inputItems(owner: Owner, responseId: string, page: PageRequest): Promise<Page<Item> | undefined>;

  /** Stored items by id, of any of the owner's responses; those that are not there are left out. */
  abstract items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;

  /** Resolves when the backend can serve, rejects when it cannot: readiness asks. */
  abstract check(): Promise<void>;
}
