import type { StoredResponse } from '../../stored-response.js';
import type { PageRequest } from '../../page.js';
import { directionOf } from '../../sql/pages.js';
import { prepared, type Statement } from '../../sql/statement.js';
import { OUTPUT_OF_RESPONSE, type Viewer, VISIBLE } from './visible.js';

/** One response. */
export const GET = prepared<readonly [...Viewer, responseId: string], StoredResponse>(
  'get',
  `SELECT r.id, r.body, r.status, ${OUTPUT_OF_RESPONSE} AS output FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4`,
);

/** Replaces the body of a response with an answer, and the labels by which it is found. The bytes are those of the body as it was. */
export const UPDATE_METADATA = prepared<
  readonly [...Viewer, responseId: string, body: string, labels: readonly string[] | null],
  { readonly id: string }
>(
  'update_metadata',
  `UPDATE antiphon.responses r SET body = $5, labels = $6::text[], size = r.size - octet_length(r.body) + octet_length($5)
  WHERE ${VISIBLE} AND r.id = $4 AND r.status IN ('completed', 'incomplete') RETURNING r.id`,
);

/** A transcript. */
export interface ChainRow {
  readonly origin: string | null;
  /** The session of the response or, if it left that one, another session that shares it; null when it is in none. */
  readonly session_id: string | null;
  readonly expires_at: Date;
  readonly too_large: boolean;
  /** The items as comma-separated JSON texts; null when there are none or they are too large. */
  readonly items: string | null;
  /** What its conversation had before, in the same form. */
  readonly earlier: string | null;
  readonly in_conversation: boolean;
}

/**
 * The items of a conversation before the first response `path` has, if that was made in one. Items that were deleted from
 * the conversation since are not among them.
 */
export const EARLIER = `path CROSS JOIN LATERAL (
      SELECT position, body FROM antiphon.conversation_items
      WHERE owner = $1 AND conversation_id = path.conversation_id AND position < path.conversation_end OFFSET 0
    ) c WHERE path.conversation_id IS NOT NULL`;

/** The bytes of `path` with its earlier items. */
export const WEIGHT = `(sum(items_size) + coalesce((SELECT sum(octet_length(c.body)) FROM ${EARLIER}), 0))`;

/** Whether one of `path` was made in a conversation. */
export const IN_CONVERSATION = `(SELECT bool_or(conversation_id IS NOT NULL) FROM path)`;

/**
 * The table `path`: a response `r`, by a condition, and its ancestors, also those that are no longer visible. Here and in every other
 * recursion, `OFFSET 0` limits PostgreSQL to one look-up per step: it would otherwise join all responses of the tenant at every step.
 */
export function pathFrom(condition: string): string {
  return `path AS (
    SELECT r.id, r.parent_id, r.items_size, r.conversation_id, r.conversation_end, 0 AS level FROM antiphon.responses r
    WHERE ${condition}
    UNION ALL
    SELECT r.id, r.parent_id, r.items_size, r.conversation_id, r.conversation_end, path.level + 1
    FROM path CROSS JOIN LATERAL (
      SELECT id, parent_id, items_size, conversation_id, conversation_end FROM antiphon.responses WHERE owner = $1 AND id = path.parent_id OFFSET 0
    ) r
  )`;
}

/** The whole transcript up to a response that may be continued. */
export const CHAIN = prepared<readonly [...Viewer, responseId: string, maxBytes: number], ChainRow>(
  'chain',
  `WITH RECURSIVE ${pathFrom(`${VISIBLE} AND r.id = $4 AND r.status IN ('completed', 'incomplete') AND r.is_continuable`)}, weight AS (
    SELECT ${WEIGHT} > $5 AS too_large FROM path
  )
  SELECT r.origin, r.expires_at, (
    SELECT s.session_id FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id
    ORDER BY s.session_id <> r.session_id, s.session_id LIMIT 1
  ) AS session_id, weight.too_large, CASE WHEN NOT weight.too_large THEN (
    SELECT string_agg(i.body, ',' ORDER BY path.level DESC, i.position)
    FROM path CROSS JOIN LATERAL (
      SELECT position, body FROM antiphon.items WHERE owner = $1 AND response_id = path.id OFFSET 0
    ) i
  ) END AS items, CASE WHEN NOT weight.too_large THEN (
    SELECT string_agg(c.body, ',' ORDER BY path.level DESC, c.position) FROM ${EARLIER}
  ) END AS earlier, ${IN_CONVERSATION} AS in_conversation
  FROM weight, path CROSS JOIN LATERAL (
    SELECT id, origin, expires_at, session_id FROM antiphon.responses WHERE owner = $1 AND id = path.id OFFSET 0
  ) r
  WHERE path.level = 0`,
);

/** An item with its requested key; no bodies when the items are too large together. */
export interface ItemRow {
  readonly item_key: string;
  readonly body: string | null;
}

/**
 * The latest version of each item of the tenant, without inherited and given items: from its responses, otherwise from
 * its conversations, which belong to no session.
 */
export const ITEMS = prepared<readonly [...Viewer, itemKeys: readonly string[], maxBytes: number], ItemRow>(
  'items',
  `SELECT wanted.item_key, CASE WHEN sum(octet_length(found.body)) OVER () <= $5 THEN found.body END AS body
  FROM unnest($4::text[]) AS wanted (item_key) CROSS JOIN LATERAL (
    SELECT coalesce((
      SELECT i.body FROM antiphon.items i JOIN antiphon.responses r ON r.owner = i.owner AND r.id = i.response_id
      WHERE i.owner = $1 AND i.item_key = wanted.item_key AND i.kind IN ('input', 'output') AND r.is_continuable AND ${VISIBLE}
      ORDER BY i.response_id DESC LIMIT 1
    ), (
      SELECT i.body FROM antiphon.conversation_items i
        JOIN antiphon.conversations c ON c.owner = i.owner AND c.id = i.conversation_id
      WHERE i.owner = $1 AND i.item_key = wanted.item_key AND NOT i.is_given AND NOT c.is_deleted AND $3::text IS NULL
      ORDER BY i.conversation_id DESC, i.position DESC LIMIT 1
    )) AS body
  ) found
  WHERE found.body IS NOT NULL`,
);

type Values = readonly [...Viewer, responseId: string, cursor: string | null, limit: number];

/** An item of the page; an empty page is one row without an item. */
export interface InputItemRow {
  readonly known: boolean;
  readonly found: boolean;
  readonly id: string | null;
  readonly body: string | null;
}

/** A page of a response's input plus one item, in order from the cursor. */
export function inputItems(request: Pick<PageRequest, 'order' | 'before'>): Statement<Values, InputItemRow> {
  const [comparison, direction] = directionOf(request);
  return prepared(
    `input_items_${direction.toLowerCase()}`,
    `WITH response AS (
      SELECT r.id FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    ), input AS (
      SELECT i.position, i.item_key, i.body FROM response JOIN antiphon.items i ON i.owner = $1 AND i.response_id = response.id
      WHERE i.kind = 'input'
    ), cursor AS (
      SELECT position FROM input WHERE item_key = $5 LIMIT 1
    ), page AS (
      SELECT position, item_key, body FROM input
      WHERE $5::text IS NULL OR position ${comparison} (SELECT position FROM cursor)
      ORDER BY position ${direction} LIMIT $6
    )
    SELECT EXISTS (SELECT FROM response) AS known, $5::text IS NULL OR EXISTS (SELECT FROM cursor) AS found,
      page.item_key AS id, page.body
    FROM (SELECT) once LEFT JOIN page ON true ORDER BY page.position ${direction}`,
  );
}
