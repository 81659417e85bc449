import type { Tenant } from '../access/index.js';
import type { ResponseObject } from '../protocol/index.js';
import type { Page, PageRequest } from './page.js';

/** Which of a tenant's responses a list shows; what is left out does not matter. */
export interface ResponseFilter {
  readonly sessionId?: string;
  readonly model?: string;
  readonly status?: string;
  /** Each of these names with its value. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number;
  /** Unix seconds, exclusive. */
  readonly createdBefore?: number;
}

/** A response with what continues it. */
export interface TreeNode {
  readonly response: ResponseObject;
  /** Oldest first. */
  readonly children: readonly TreeNode[];
  /** Whether there are children that the bounds of the request left out. */
  readonly hasMore: boolean;
}

/** How much of a tree is shown. */
export interface TreeBounds {
  /** Levels below the root. */
  readonly depth: number;
  /** Responses in all, nearest to the root first. */
  readonly limit: number;
}

/** Most responses that are looked through for leaves, or on the way up to a root. */
export const GRAPH_MAX_RESPONSES = 10_000;

/**
 * The lists and trees that responses form by `previous_response_id`, ordered by creation. They are of what can be seen: a
 * deleted or expired response cuts them, and `within` a session what is outside of it does the same. Pages throw
 * UnknownCursorError; a page of a response that is not there is undefined.
 */
export abstract class ResponseGraph {
  abstract list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<Page<ResponseObject>>;

  /** What continues a response. */
  abstract children(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /** What continues the same response as this one does, without this one. */
  abstract siblings(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /** The ends of all branches from a response on: itself, where nothing continues it. Throws GraphTooLargeError. */
  abstract leaves(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /** The tree that a response belongs to, from its earliest ancestor on. Throws GraphTooLargeError. */
  abstract tree(tenant: Tenant, responseId: string, bounds: TreeBounds, within?: string): Promise<TreeNode | undefined>;
}
