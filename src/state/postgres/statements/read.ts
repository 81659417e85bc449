import { prepared } from '../statement.js';
import { OUTPUT_OF_RESPONSE, type Viewer, VISIBLE } from './visible.js';

/** A response as it is stored. */
export interface ResponseRow {
  readonly body: string;
  readonly output: string | null;
}

/** One response. */
export const GET = prepared<readonly [...Viewer, responseId: string], ResponseRow>(
  'get',
  `SELECT r.body, ${OUTPUT_OF_RESPONSE} AS output FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4`,
);

/** A conversation: its items as JSON texts with commas between them. */
export interface ChainRow {
  readonly origin: string | null;
  /** The session it was made in or, where that was deleted, one that shares it; null when it has left all of them. */
  readonly session_id: string | null;
  readonly items: string | null;
  readonly expires_at: Date;
}

/** The whole conversation up to a response that may be continued; ancestors count even when they cannot be seen any more. */
export const CHAIN = prepared<readonly [...Viewer, responseId: string], ChainRow>(
  'chain',
  `WITH RECURSIVE path AS (
    SELECT r.id, r.parent_id, 0 AS level FROM antiphon.responses r
    WHERE ${VISIBLE} AND r.id = $4 AND r.status IN ('completed', 'incomplete')
    UNION ALL
    SELECT r.id, r.parent_id, path.level + 1 FROM path JOIN antiphon.responses r ON r.owner = $1 AND r.id = path.parent_id
  )
  SELECT r.origin, r.expires_at, (
    SELECT s.session_id FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id
    ORDER BY s.session_id <> r.session_id, s.session_id LIMIT 1
  ) AS session_id, (
    SELECT string_agg(i.body, ',' ORDER BY path.level DESC, i.position)
    FROM path JOIN antiphon.items i ON i.owner = $1 AND i.response_id = path.id
  ) AS items
  FROM path JOIN antiphon.responses r ON r.owner = $1 AND r.id = path.id
  WHERE path.level = 0`,
);

/** An item with the key under which it was asked for. */
export interface ItemRow {
  readonly item_key: string;
  readonly body: string;
}

/** The latest that the owner has of each item; what a response only inherited is not its own. */
export const ITEMS = prepared<readonly [...Viewer, itemKeys: readonly string[]], ItemRow>(
  'items',
  `SELECT wanted.item_key, found.body FROM unnest($4::text[]) AS wanted (item_key) CROSS JOIN LATERAL (
    SELECT i.body FROM antiphon.items i JOIN antiphon.responses r ON r.owner = i.owner AND r.id = i.response_id
    WHERE i.owner = $1 AND i.item_key = wanted.item_key AND i.kind <> 'inherited' AND ${VISIBLE}
    ORDER BY i.response_id DESC LIMIT 1
  ) found`,
);
