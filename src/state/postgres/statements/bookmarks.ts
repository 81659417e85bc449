import { BOOKMARK_MS } from '../../bookmark.js';
import { GRAPH_MAX_RESPONSES } from '../../response-graph.js';
import { adHoc } from '../../sql/statement.js';

/** BOOKMARK_MS in SQL. */
export const BOOKMARK_TIME = `interval '${BOOKMARK_MS} milliseconds'`;

/** The sessions of response `r`. */
const SESSIONS = `array(
    SELECT s.session_id FROM antiphon.session_responses s WHERE s.owner = r.owner AND s.response_id = r.id)`;

/**
 * A part of a statement that deletes or frees the responses of a table: remembers them as they were before it, unless they are gone for
 * longer than BOOKMARK_MS. What was remembered when it left its sessions stays as it is.
 */
export function remember(table: string, now: string): string {
  return `INSERT INTO antiphon.bookmarks (owner, id, created_at, parent_id, model, status, labels, sessions, expires_at)
    SELECT r.owner, r.id, r.created_at, r.parent_id, r.model, r.status, r.labels, r.sessions,
      least(r.expires_at, ${now}) + ${BOOKMARK_TIME}
    FROM ${table} CROSS JOIN LATERAL (
      SELECT r.owner, r.id, r.created_at, r.parent_id, r.model, r.status, r.labels, r.expires_at, ${SESSIONS} AS sessions
      FROM antiphon.responses r WHERE r.owner = ${table}.owner AND r.id = ${table}.id OFFSET 0
    ) r
    WHERE r.expires_at > ${now}::timestamptz - ${BOOKMARK_TIME} ORDER BY r.owner, r.id
    ON CONFLICT (owner, id) DO UPDATE SET expires_at = EXCLUDED.expires_at WHERE bookmarks.expires_at < EXCLUDED.expires_at`;
}

/** A `Bookmark` as a row. */
export interface BookmarkRow {
  readonly created_at: Date;
  readonly parent_id: string | null;
  readonly model: string;
  readonly status: string;
  readonly labels: readonly string[] | null;
  readonly sessions: readonly string[];
}

/** A response that was deleted or has expired; first as it was remembered, then as it is if the purge has not come to it. */
export const FIND_BOOKMARK = adHoc<readonly [tenant: string, now: Date, responseId: string], BookmarkRow>(
  `SELECT 1 AS place, r.created_at, r.parent_id, r.model, r.status, r.labels, r.sessions FROM antiphon.bookmarks r
  WHERE r.owner = $1 AND r.id = $3 AND r.expires_at > $2
  UNION ALL
  SELECT 2, r.created_at, r.parent_id, r.model, r.status, r.labels, ${SESSIONS} FROM antiphon.responses r
  WHERE r.owner = $1 AND r.id = $3 AND r.expires_at <= $2 AND r.expires_at > $2::timestamptz - ${BOOKMARK_TIME}
  ORDER BY place LIMIT 1`,
);

/** What a response continues. */
export const PARENT = adHoc<readonly [tenant: string, responseId: string], { readonly parent_id: string | null }>(
  'SELECT parent_id FROM antiphon.responses WHERE owner = $1 AND id = $2',
);

/** Whether one response is another one, or continues it, or what continues it; all but the latter may be gone. */
export const IS_BELOW = adHoc<
  readonly [tenant: string, responseId: string, ancestorId: string],
  { readonly is_below: boolean }
>(
  `WITH RECURSIVE up AS (
    SELECT $2::text COLLATE "C" AS id, 1 AS climbed
    UNION ALL
    SELECT next.parent_id, up.climbed + 1 FROM up CROSS JOIN LATERAL (
      SELECT parent_id FROM antiphon.responses WHERE owner = $1 AND id = up.id
      UNION ALL
      SELECT parent_id FROM antiphon.bookmarks WHERE owner = $1 AND id = up.id
      LIMIT 1
    ) next
    WHERE up.id <> $3 AND up.climbed <= ${GRAPH_MAX_RESPONSES}
  )
  SELECT EXISTS (SELECT FROM up WHERE id = $3) AS is_below`,
);

/** Forgets bookmarks and claims that are too old, up to a number of each kind; whether there may be more. */
export const FORGET_EXPIRED = adHoc<readonly [now: Date, limit: number], { readonly has_more: boolean }>(
  `WITH ${forget('bookmarks', 'owner, id')}, ${forget('item_bookmarks', 'owner, conversation_id, item_key')},
  ${forget('claims', 'owner, name')}
  SELECT greatest((SELECT count(*) FROM bookmarks), (SELECT count(*) FROM item_bookmarks),
    (SELECT count(*) FROM claims)) >= $2 AS has_more`,
);

function forget(table: string, key: string): string {
  return `${table} AS (
    DELETE FROM antiphon.${table} WHERE (${key}) IN (
      SELECT ${key} FROM antiphon.${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING expires_at
  )`;
}
