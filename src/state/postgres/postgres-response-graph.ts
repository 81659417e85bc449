import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock, MaybePromise } from '../../time/index.js';
import { type Bookmark, wasListed } from '../bookmark.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import { readResponse } from '../stored-response.js';
import type { Database } from './database.js';
import { toKey, toLabels } from '../keys.js';
import { FIND_BOOKMARK, IS_BELOW, PARENT } from './statements/bookmarks.js';
import { CHILDREN, filtered, LEAVES, type PageSource, SIBLINGS, toPage } from './statements/page.js';
import { TREE, type TreeRow } from './statements/tree.js';
import { viewerOf } from './viewer.js';

type ResponsePage = Page<ResponseObject>;
type Source = Omit<PageSource, 'values'>;
/** Whether a list had a response that is gone. */
type Had = (gone: Bookmark) => MaybePromise<boolean>;

/** Lists and trees of responses in PostgreSQL, each in one round trip. */
export class PostgresResponseGraph extends ResponseGraph {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const key = toKey(tenant);
    const labels = toLabels(key, filter.metadata ?? {});
    const source = filtered(key, new Date(this.clock.now()), filter);
    const found = await this.page(source, page, (gone) => wasListed(gone, filter, labels));
    return found ?? { data: [], hasMore: false };
  }

  override children(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(CHILDREN, tenant, responseId, page, within, (gone) => gone.parentKey === toKey(responseId));
  }

  override siblings(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(SIBLINGS, tenant, responseId, page, within, async ({ parentKey }) => {
      const [row] = await this.database.repeatable(PARENT, [toKey(tenant), toKey(responseId)]);
      return parentKey !== null && parentKey === row?.parent_id;
    });
  }

  override leaves(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around(LEAVES, tenant, responseId, page, within, async ({ parentKey }) => {
      if (parentKey === null) return false;
      const [row] = await this.database.repeatable(IS_BELOW, [toKey(tenant), parentKey, toKey(responseId)]);
      return row?.is_below === true;
    });
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
    had: Had,
  ): Promise<ResponsePage | undefined> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId)] as const;
    const filter = within === undefined ? {} : { sessionId: within };
    return this.page({ ...source, values }, page, (gone) => wasListed(gone, filter) && had(gone));
  }

  /** In one round trip, unless what the cursor names is gone. `gone`: that, once it is known that the source had it. */
  private async page(
    source: PageSource,
    page: PageRequest,
    had: Had,
    gone?: Bookmark,
  ): Promise<ResponsePage | undefined> {
    const { statement, values } = toPage(source, page, gone);
    const rows = await this.database.repeatable(statement, values);
    const [first] = rows;
    if (first?.known !== true) return undefined;
    if (first.too_large) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    if (!first.found) {
      const bookmark = await this.findGone(source, page);
      if (bookmark === undefined || !(await had(bookmark))) throw new UnknownCursorError(page);
      return this.page(source, page, had, bookmark);
    }
    const data = rows.flatMap(({ body, status, output }) =>
      body === null || status === null ? [] : [readResponse({ body, status, output })],
    );
    return { data, hasMore: first.has_more };
  }

  private async findGone(
    { values: [tenant, now] }: PageSource,
    { after, before }: PageRequest,
  ): Promise<Bookmark | undefined> {
    const [row] = await this.database.repeatable(FIND_BOOKMARK, [tenant, now, toKey(after ?? before ?? '')]);
    if (row === undefined) return undefined;
    const { created_at: createdAt, parent_id: parentKey, model, status, labels, sessions } = row;
    return { createdAt: createdAt.getTime() / 1000, parentKey, model, status, labels: labels ?? [], sessions };
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
