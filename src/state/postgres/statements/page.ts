import type { Bookmark } from '../../bookmark.js';
import { isForward, PAGE_BYTES, type PageRequest } from '../../page.js';
import { GRAPH_MAX_RESPONSES, type ResponseFilter } from '../../response-graph.js';
import { toKey, toLabels } from '../../keys.js';
import type { StoredResponse } from '../../stored-response.js';
import { adHoc, type Statement } from '../../sql/statement.js';
import { OUTPUT_OF_RESPONSE, type Viewer, VISIBLE } from './visible.js';

/** The comparison with the cursor and the order of rows. */
export type Direction = readonly [comparison: '>', order: 'ASC'] | readonly [comparison: '<', order: 'DESC'];

/** The direction of a page from its cursor. */
export function directionOf(page: Pick<PageRequest, 'order' | 'before'>): Direction {
  return isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** A response of the page; an empty page is one row without a body. */
export interface PageRow extends Nullable<StoredResponse> {
  /** Whether the response that the list belongs to is visible. */
  readonly known: boolean;
  /** Whether the cursor is in the list. */
  readonly found: boolean;
  readonly too_large: boolean;
  readonly has_more: boolean;
}

/** A set of responses as SQL, for paging. */
export interface PageSource {
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
export function filtered(tenant: string, now: Date, filter: ResponseFilter): PageSource {
  const { sessionId, model, statuses, metadata, createdFrom, createdBefore } = filter;
  const values: [...Viewer, ...unknown[]] = [tenant, now, sessionId === undefined ? null : toKey(sessionId)];
  const conditions: string[] = [];
  const where = (condition: (value: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(` AND ${condition(`$${values.length}`)}`);
  };
  where((value) => `r.model = ${value}`, model === undefined ? undefined : toKey(model));
  // One by itself, which an index has in the order of the list.
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
export const CHILDREN = {
  ...PLAIN,
  rows: `FROM antiphon.responses r WHERE ${VISIBLE} AND r.parent_id = $4`,
  known: KNOWN,
} satisfies Omit<PageSource, 'values'>;

/** The responses that continue the same visible response as `$4`. */
export const SIBLINGS = {
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
export const LEAVES = {
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
export function toPage(
  source: PageSource,
  request: PageRequest,
  gone?: Pick<Bookmark, 'createdAt'>,
): { readonly statement: Statement<readonly unknown[], PageRow>; readonly values: readonly unknown[] } {
  const { limit, after, before } = request;
  const [comparison, direction] = directionOf(request);
  const [createdAt, id] = source.order;
  const cursor = after ?? before ?? null;
  const values = [...source.values, cursor === null ? null : toKey(cursor), limit];
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
    r.body, r.status, ${OUTPUT_OF_RESPONSE} AS output
  FROM (SELECT) once LEFT JOIN page ON true LEFT JOIN antiphon.responses r ON r.owner = $1 AND r.id = page.id
  ORDER BY page.place ${before === undefined ? 'ASC' : 'DESC'}`;
  return { statement: adHoc(text), values };
}
