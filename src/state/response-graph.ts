import type { Tenant } from '../access/index.js';
import type { ResponseObject } from '../protocol/index.js';
import type { Page, PageRequest } from './page.js';

/** A filter of a tenant's responses; omitted members match all. */
export interface ResponseFilter {
  readonly sessionId?: string;
  readonly model?: string;
  /** Any of these. */
  readonly statuses?: readonly string[];
  /** Every name must have its value. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number;
  /** Unix seconds, exclusive. */
  readonly createdBefore?: number;
}

/** A response with the responses that continue it. */
export interface TreeNode {
  readonly response: ResponseObject;
  /** Oldest first. */
  readonly children: readonly TreeNode[];
  /** Whether the limits of the request omitted children. */
  readonly hasMore: boolean;
}

/** The limits of a tree. */
export interface TreeBounds {
  /** Levels below the root. */
  readonly depth: number;
  /** Number of responses, nearest to the root first. */
  readonly limit: number;
}

/** Most responses that are read to find leaves or a root. */
export const GRAPH_MAX_RESPONSES = 10_000;

/**
 * The lists and trees that responses form by `previous_response_id`, ordered by creation. They contain visible
 * responses only: deleted and expired responses, and with `within` those outside of the session, end a branch. Those
 * that have not ended are without output, so that pages stay bounded. Pages throw UnknownCursorError; the page of a
 * response that is not found is undefined.
 */
export abstract class ResponseGraph {
  abstract list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<Page<ResponseObject>>;

  /** The responses that continue a response. */
  abstract children(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /** The other responses that continue the same response. */
  abstract siblings(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /**
   * The leaves of all branches from a response on, or the response itself if nothing continues it. Throws
   * GraphTooLargeError.
   */
  abstract leaves(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<ResponseObject> | undefined>;

  /** The tree of a response, from its earliest visible ancestor on. Throws GraphTooLargeError. */
  abstract tree(tenant: Tenant, responseId: string, bounds: TreeBounds, within?: string): Promise<TreeNode | undefined>;
}
