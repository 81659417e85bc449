import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock, MaybePromise } from '../../time/index.js';
import { type Bookmark, wasListed } from '../bookmark.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { cursorOf, type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import { readablePage } from '../readable-page.js';
import { GRAPH_MAX_RESPONSES, type ResponseFilter, ResponseGraph, type TreeBounds } from '../response-graph.js';
import { directionOf } from '../sql/pages.js';
import { adHoc, type Statement } from '../sql/statement.js';
import { readResponse, type StoredResponse, toTree } from '../stored-response.js';
import type { Database } from './database.js';
import { FIND_BOOKMARK, IS_BELOW, PARENT } from './statements/bookmarks.js';
import { OUTPUT_OF_RESPONSE, type Viewer, viewerOf, VISIBLE } from './statements/visible.js';

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** A response of the page; an empty page is one row without a body. */
interface PageRow extends Nullable<StoredResponse> {
  /** Whether the response that the list belongs to is visible. */
  readonly known: boolean;
  /** Whether the cursor is in the list. */
  readonly found: boolean;
  readonly too_large: boolean;
  readonly has_more: boolean;
}

/** A set of responses as SQL, for paging. */
interface PageSource {
  /** Common table expressions that precede it. */
  readonly tables: string;
  /** `FROM … WHERE …`, with the response, or its columns for paging, as `r`. */
  readonly rows: string;
  /** The columns of the order. */
  readonly order: readonly [createdAt: string, id: string];
  readonly known: string;
  readonly tooLarge: string;
  readonly values: readonly [...Viewer, ...unknown[]];
}

const PLAIN = { tables: '', order: ['r.created_at', 'r.id'], known: 'true', tooLarge: 'false' } as const;

/** The responses of a tenant that match a filter. */
function filtered(tenant: string, now: Date, filter: ResponseFilter): PageSource {
  const { sessionId, model, statuses, metadata, createdFrom, createdBefore } = filter;
  const values: [...Viewer, ...unknown[]] = [tenant, now, sessionId === undefined ? null : toKey(sessionId)];
  const conditions: string[] = [];
  const where = (condition: (value: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(` AND ${condition(`$${values.length}`)}`);
  };
  where((value) => `r.model = ${value}`, model === undefined ? undefined : toKey(model));
  // A single status is compared by itself: an index has it in the order of the list.
  const [status, ...others] = statuses ?? [];
  if (others.length === 0) where((value) => `r.status = ${value}`, status);
  else where((value) => `r.status = ANY(${value}::text[])`, statuses);
  const labels = toLabels(tenant, metadata ?? {});
  where((value) => `r.labels @> ${value}::text[]`, labels.length === 0 ? undefined : labels);
  where((value) => `r.created_at >= to_timestamp(${value})`, createdFrom);
  where((value) => `r.created_at < to_timestamp(${value})`, createdBefore);
  const more = conditions.join('');
  if (sessionId === undefined) {
    return { ...PLAIN, rows: `FROM antiphon.responses r WHERE ${VISIBLE}${more}`, values };
  }
  const rows = `FROM antiphon.session_responses m JOIN antiphon.responses r ON r.owner = m.owner AND r.id = m.response_id
    WHERE m.owner = $1 AND m.session_id = $3 AND r.expires_at > $2${more}`;
  return { ...PLAIN, rows, order: ['m.created_at', 'm.response_id'], values };
}

const KNOWN = `EXISTS (SELECT FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4)`;

/** The responses that continue response `$4`. */
const CHILDREN = {
  ...PLAIN,
  rows: `FROM antiphon.responses r WHERE ${VISIBLE} AND r.parent_id = $4`,
  known: KNOWN,
} satisfies Omit<PageSource, 'values'>;

/** The responses that continue the same visible response as `$4`. */
const SIBLINGS = {
  ...PLAIN,
  rows: `FROM antiphon.responses r WHERE ${VISIBLE} AND r.id <> $4
    AND r.parent_id = (
      SELECT r.id FROM antiphon.responses child JOIN antiphon.responses r ON r.owner = child.owner AND r.id = child.parent_id
      WHERE child.owner = $1 AND child.id = $4 AND ${VISIBLE})`,
  known: KNOWN,
} satisfies Omit<PageSource, 'values'>;

/**
 * The leaves of all branches from `$4` on. The limit stops the recursion, because nothing after it sorts or counts.
 * Each OFFSET prevents PostgreSQL from joining: it underestimates the rows of a recursion and would compare each with
 * every response of the tenant.
 */
const LEAVES = {
  ...PLAIN,
  tables: `walk AS (
    SELECT r.id, r.created_at, r.size FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    UNION ALL
    SELECT next.id, next.created_at, next.size FROM walk CROSS JOIN LATERAL (
      SELECT r.id, r.created_at, r.size FROM antiphon.responses r WHERE r.parent_id = walk.id AND ${VISIBLE} OFFSET 0
    ) next
  ), nodes AS MATERIALIZED (
    SELECT id, created_at, size FROM walk LIMIT ${GRAPH_MAX_RESPONSES + 1}
  ), leaves AS MATERIALIZED (
    SELECT id, created_at, size FROM nodes
    WHERE (SELECT count(*) FROM nodes) <= ${GRAPH_MAX_RESPONSES}
      AND NOT EXISTS (SELECT FROM antiphon.responses r WHERE r.parent_id = nodes.id AND ${VISIBLE} OFFSET 0)
  ), `,
  rows: `FROM leaves r WHERE true`,
  known: `EXISTS (SELECT FROM nodes)`,
  tooLarge: `(SELECT count(*) FROM nodes) > ${GRAPH_MAX_RESPONSES}`,
} satisfies Omit<PageSource, 'values'>;

/**
 * One page of a source, bounded in number and size before bodies are read. `gone`: what its cursor names, if the source had
 * it and has it no more.
 */
function toPage(
  source: PageSource,
  request: PageRequest,
  gone?: Pick<Bookmark, 'createdAt'>,
): { readonly statement: Statement<readonly unknown[], PageRow>; readonly values: readonly unknown[] } {
  const { limit, before } = request;
  const [comparison, direction] = directionOf(request);
  const [createdAt, id] = source.order;
  const cursor = cursorOf(request) ?? null;
  const values = [...source.values, cursor, limit];
  const [cursorValue, limitValue] = [`$${values.length - 1}::text`, `$${values.length}::integer`];
  const behindCursor =
    cursor === null
      ? ''
      : `AND (${createdAt}, ${id}) ${comparison} ((SELECT created_at FROM cursor), (SELECT id FROM cursor))`;
  let place = `${createdAt} AS created_at, ${id} AS id ${source.rows} AND r.id = ${cursorValue}`;
  if (gone !== undefined) {
    values.push(gone.createdAt);
    place = `to_timestamp($${values.length}) AS created_at, ${cursorValue} COLLATE "C" AS id`;
  }
  const text = `WITH RECURSIVE ${source.tables}cursor AS (
    SELECT ${place}
  ), candidates AS MATERIALIZED (
    SELECT ${createdAt} AS created_at, ${id} AS id, r.size ${source.rows} ${behindCursor}
    ORDER BY ${createdAt} ${direction}, ${id} ${direction} LIMIT ${limitValue} + 1
  ), weighed AS (
    SELECT id, row_number() OVER before AS place, sum(size) OVER before AS total FROM candidates
    WINDOW before AS (ORDER BY created_at ${direction}, id ${direction} ROWS UNBOUNDED PRECEDING)
  ), page AS (
    SELECT id, place FROM weighed WHERE place <= ${limitValue} AND (place = 1 OR total <= ${PAGE_BYTES})
  )
  SELECT ${source.known} AS known, ${cursorValue} IS NULL OR EXISTS (SELECT FROM cursor) AS found,
    ${source.tooLarge} AS too_large, (SELECT count(*) FROM candidates) > (SELECT count(*) FROM page) AS has_more,
    r.id, r.body, r.status, ${OUTPUT_OF_RESPONSE} AS output
  FROM (SELECT) once LEFT JOIN page ON true LEFT JOIN antiphon.responses r ON r.owner = $1 AND r.id = page.id
  ORDER BY page.place ${before === undefined ? 'ASC' : 'DESC'}`;
  return { statement: adHoc(text), values };
}

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
    const found = await this.page(tenant, source, page, (gone) => wasListed(gone, filter, labels));
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

  override async tree(tenant: Tenant, responseId: string, { depth, limit }: TreeBounds, within?: string) {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), depth, limit] as const;
    const rows = await this.database.repeatable(TREE, values);
    if (rows[0]?.too_large === true) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return toTree(
      tenant,
      rows.map(({ parent_id: parent, ...row }) => ({ ...row, key: row.id, parent })),
    );
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
    return this.page(tenant, { ...source, values }, page, (gone) => wasListed(gone, filter) && had(gone));
  }

  private page(tenant: Tenant, source: PageSource, page: PageRequest, had: Had): Promise<ResponsePage | undefined> {
    return readablePage(tenant, page, (asked) => this.rows(source, asked, had), readResponse);
  }

  /** In one round trip, unless what the cursor names is gone. `gone`: that, once it is known that the source had it. */
  private async rows(
    source: PageSource,
    page: PageRequest,
    had: Had,
    gone?: Bookmark,
  ): Promise<Page<StoredResponse> | undefined> {
    const { statement, values } = toPage(source, page, gone);
    const rows = await this.database.repeatable(statement, values);
    const [first] = rows;
    if (first?.known !== true) return undefined;
    if (first.too_large) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    if (!first.found) {
      const bookmark = await this.findGone(source, page);
      if (bookmark === undefined || !(await had(bookmark))) throw new UnknownCursorError(page);
      return this.rows(source, page, had, bookmark);
    }
    const data = rows.flatMap(({ id, body, status, output }) =>
      id === null || body === null || status === null ? [] : [{ id, body, status, output }],
    );
    return { data, hasMore: first.has_more };
  }

  private async findGone({ values: [tenant, now] }: PageSource, page: PageRequest): Promise<Bookmark | undefined> {
    const [row] = await this.database.repeatable(FIND_BOOKMARK, [tenant, now, cursorOf(page) ?? '']);
    if (row === undefined) return undefined;
    const { created_at: createdAt, parent_id: parentKey, model, status, labels, sessions } = row;
    return { createdAt: createdAt.getTime() / 1000, parentKey, model, status, labels: labels ?? [], sessions };
  }
}

/** A response of the tree; rows are ordered from the root. */
interface StoredNode extends StoredResponse {
  /** Null at the root. */
  readonly parent_id: string | null;
  /** The number of visible children, counted up to one more than the limit of the tree. */
  readonly children: number;
  readonly too_large: boolean;
}
