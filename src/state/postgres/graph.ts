import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock, MaybePromise } from '../../time/index.js';
import { type Bookmark, wasListed } from '../bookmark.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import { readResponse, type StoredResponse, toTree } from '../stored-response.js';
import { adHoc } from '../sql/statement.js';
import type { Database } from './database.js';
import { FIND_BOOKMARK, IS_BELOW, PARENT } from './statements/bookmarks.js';
import { CHILDREN, filtered, LEAVES, type PageSource, SIBLINGS, toPage } from './statements/page.js';
import { OUTPUT_OF_RESPONSE, type Viewer, viewerOf, VISIBLE } from './statements/visible.js';

/** Up to the earliest visible ancestor, and from there down, level by level; the limit stops the recursion. */
const TREE = adHoc<readonly [...Viewer, responseId: string, depth: number, limit: number], StoredNode>(
  `WITH RECURSIVE up AS (
    SELECT r.id, r.parent_id, 1 AS climbed FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    UNION ALL
    SELECT parent.id, parent.parent_id, up.climbed + 1 FROM up CROSS JOIN LATERAL (
      SELECT r.id, r.parent_id FROM antiphon.responses r WHERE r.id = up.parent_id AND ${VISIBLE} OFFSET 0
    ) parent
    WHERE up.climbed <= ${GRAPH_MAX_RESPONSES}
  ), root AS MATERIALIZED (
    SELECT id, climbed FROM up ORDER BY climbed DESC LIMIT 1
  ), down AS (
    SELECT r.id, NULL::text COLLATE "C" AS parent_id, 0 AS level, r.size
    FROM root JOIN antiphon.responses r ON r.owner = $1 AND r.id = root.id
    UNION ALL
    SELECT child.id, child.parent_id, down.level + 1, child.size FROM down CROSS JOIN LATERAL (
      SELECT r.id, r.parent_id, r.size FROM antiphon.responses r WHERE r.parent_id = down.id AND ${VISIBLE}
      ORDER BY r.created_at, r.id LIMIT $6
    ) child
    WHERE down.level < $5
  ), nearest AS MATERIALIZED (
    SELECT id, parent_id, size, row_number() OVER () AS place FROM (SELECT * FROM down LIMIT $6) walked
  ), shown AS (
    SELECT id, parent_id, place, sum(size) OVER (ORDER BY place) AS total FROM nearest
  )
  SELECT shown.id, shown.parent_id, r.body, r.status, ${OUTPUT_OF_RESPONSE} AS output,
    (SELECT climbed FROM root) > ${GRAPH_MAX_RESPONSES} AS too_large,
    (SELECT count(*) FROM (
      SELECT FROM antiphon.responses r WHERE r.parent_id = shown.id AND ${VISIBLE} LIMIT $6 + 1
    ) counted)::integer AS children
  FROM shown JOIN antiphon.responses r ON r.owner = $1 AND r.id = shown.id
  WHERE shown.place = 1 OR shown.total <= ${PAGE_BYTES}
  ORDER BY shown.place`,
);

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
    return toTree(rows.map(({ id: key, parent_id: parent, ...row }) => ({ ...row, key, parent })));
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

/** A response of the tree; rows are ordered from the root. */
interface StoredNode extends StoredResponse {
  readonly id: string;
  /** Null at the root. */
  readonly parent_id: string | null;
  /** The number of visible children, counted up to one more than the limit of the tree. */
  readonly children: number;
  readonly too_large: boolean;
}
