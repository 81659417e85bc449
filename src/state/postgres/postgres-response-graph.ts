import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import { readResponse } from '../response-texts.js';
import type { Database } from './database.js';
import { toKey } from '../keys.js';
import { CHILDREN, filtered, LEAVES, type PageSource, SIBLINGS, toPage } from './statements/page.js';
import { TREE, type TreeRow } from './statements/tree.js';
import { viewerOf } from './viewer.js';

type ResponsePage = Page<ResponseObject>;
type Source = Omit<PageSource, 'values'>;

/** Lists and trees of responses in PostgreSQL, each in one round trip. */
export class PostgresResponseGraph extends ResponseGraph {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const found = await this.page(filtered(toKey(tenant), new Date(this.clock.now()), filter), page);
    return found ?? { data: [], hasMore: false };
  }

  override children(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(CHILDREN, tenant, responseId, page, within);
  }

  override siblings(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(SIBLINGS, tenant, responseId, page, within);
  }

  override leaves(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(LEAVES, tenant, responseId, page, within);
  }

  override async tree(
    tenant: Tenant,
    responseId: string,
    { depth, limit }: TreeBounds,
    within?: string,
  ): Promise<TreeNode | undefined> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), depth, limit] as const;
    const rows = await this.database.repeatable(TREE, values);
    if (rows[0]?.too_large === true) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return toTree(rows);
  }

  private around(
    source: Source,
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within: string | undefined,
  ): Promise<ResponsePage | undefined> {
    return this.page({ ...source, values: [...viewerOf(tenant, this.clock, within), toKey(responseId)] }, page);
  }

  private async page(source: PageSource, page: PageRequest): Promise<ResponsePage | undefined> {
    const { statement, values } = toPage(source, page);
    const rows = await this.database.repeatable(statement, values);
    const [first] = rows;
    if (first?.known !== true) return undefined;
    if (first.too_large) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    if (!first.found) throw new UnknownCursorError(page);
    const data = rows.flatMap(({ body, status, output }) =>
      body === null || status === null ? [] : [readResponse({ body, status, output })],
    );
    return { data, hasMore: first.has_more };
  }
}

/** Builds a tree from rows, the root first. */
function toTree(rows: readonly TreeRow[]): TreeNode | undefined {
  const childrenOf = new Map<string | null, TreeRow[]>();
  for (const row of rows) {
    const siblings = childrenOf.get(row.parent_id) ?? [];
    siblings.push(row);
    childrenOf.set(row.parent_id, siblings);
  }
  const toNode = (row: TreeRow): TreeNode => {
    const children = (childrenOf.get(row.id) ?? []).map(toNode);
    return { response: readResponse(row), children, hasMore: children.length < row.children };
  };
  const [root] = rows;
  return root && toNode(root);
}
