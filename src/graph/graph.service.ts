import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, type ListObject, type ResponseWithText, toListObject, withOutputText } from '../protocol/index.js';
import {
  type PageRequest,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../state/index.js';

/** A response and what continues it, as `GET /responses/{id}/tree` shows it. */
export interface TreeNodeObject {
  readonly id: string;
  readonly object: 'response.tree_node';
  readonly response: ResponseWithText;
  /** `has_more`: the bounds of the request left some out; `/responses/{id}/children` has them. */
  readonly children: ListObject<TreeNodeObject>;
}

/** What `GET /responses/{id}/tree` answers. */
export interface TreeObject {
  readonly object: 'response.tree';
  readonly root: TreeNodeObject;
}

type Around = 'children' | 'siblings' | 'leaves';

/** Lists and trees of stored responses. Throws ApiError 404 for a response that is not there, and StateErrors. */
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
