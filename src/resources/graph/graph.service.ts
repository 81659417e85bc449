import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import {
  ApiError,
  type ListObject,
  type ResponseWithText,
  toListObject,
  withOutputText,
} from '../../protocol/index.js';
import {
  type PageRequest,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../../state/index.js';

/** A response and its children, as `GET /responses/{id}/tree` shows them. */
interface TreeNodeObject {
  readonly id: string;
  readonly object: 'response.tree_node';
  readonly response: ResponseWithText;
  /** `has_more`: the limits of the request omitted some; `/responses/{id}/children` lists them. */
  readonly children: ListObject<TreeNodeObject>;
}

/** The body of `GET /responses/{id}/tree`. */
export interface TreeObject {
  readonly object: 'response.tree';
  readonly root: TreeNodeObject;
}

type Around = 'children' | 'siblings' | 'leaves';

/** Lists and trees of stored responses. Throws ApiError 404 for a response that is not found, and StateErrors. */
@Injectable()
export class GraphService {
  constructor(private readonly graph: ResponseGraph) {}

  async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ListObject<ResponseWithText>> {
    const { data, hasMore } = await this.graph.list(tenant, filter, page);
    return toListObject(data.map(withOutputText), hasMore);
  }

  /** The children, siblings or leaves of a response. */
  async around(
    kind: Around,
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ListObject<ResponseWithText>> {
    const found = await this.graph[kind](tenant, responseId, page, within);
    if (found === undefined) throw ApiError.notFound('Response', responseId);
    return toListObject(found.data.map(withOutputText), found.hasMore);
  }

  async tree(tenant: Tenant, responseId: string, bounds: TreeBounds, within?: string): Promise<TreeObject> {
    const root = await this.graph.tree(tenant, responseId, bounds, within);
    if (root === undefined) throw ApiError.notFound('Response', responseId);
    return { object: 'response.tree', root: toObject(root) };
  }
}

function toObject({ response, children, hasMore }: TreeNode): TreeNodeObject {
  return {
    id: response.id,
    object: 'response.tree_node',
    response: withOutputText(response),
    children: toListObject(children.map(toObject), hasMore),
  };
}
