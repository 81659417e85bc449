import { adHoc, prepared } from '../../sql/statement.js';
import { remember } from './bookmarks.js';
import { notifyReplicas, SUBTREE, type Viewer, VISIBLE } from './visible.js';

/** Responses that were visible and no longer are. */
export interface GoneRow {
  readonly ids: readonly string[];
}

/** Hides a response and, with `$5`, all visible responses that continue it. Rows stay until they are freed. */
export const DELETE = prepared<readonly [...Viewer, responseId: string, cascade: boolean], GoneRow>(
  'delete',
  `WITH RECURSIVE ${SUBTREE}, gone AS (
    UPDATE antiphon.responses r SET expires_at = '-infinity' FROM subtree
    WHERE r.id = subtree.id AND ${VISIBLE}
    RETURNING r.owner, r.id
  ), remembered AS (
    ${remember('gone', '$2')}
  ), memberships AS (
    DELETE FROM antiphon.session_responses s USING gone WHERE s.owner = $1 AND s.response_id = gone.id
  )
  SELECT array(SELECT id FROM gone) AS ids, ${notifyReplicas('gone')} AS notices`,
);

/** The values of SWEEP: the time limit, the position to continue after, and the number of rows. */
export type SweepValues = readonly [now: Date, expiresAt: string, owner: string, id: string, limit: number];

/** The primary key of a response. */
export interface Key {
  readonly owner: string;
  readonly id: string;
}

/** The position of a sweep. */
export interface SweptRow extends Key {
  readonly expires_at: string;
  /** Whether a response continues it. */
  readonly needed: boolean;
}

/**
 * The next expired responses after a position; removes them from their sessions and notifies replicas. Only one replica
 * sweeps at a time; others get no rows.
 */
export const SWEEP = adHoc<SweepValues, SweptRow>(
  `WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('antiphon sweep', 0)) AS is_ours
  ), expired AS (
    SELECT r.expires_at, r.owner, r.id FROM turn, antiphon.responses r
    WHERE turn.is_ours AND r.expires_at <= $1 AND (r.expires_at, r.owner, r.id) > ($2::timestamptz, $3::text, $4::text)
    ORDER BY r.expires_at, r.owner, r.id LIMIT $5
  ), gone AS (
    SELECT id FROM expired WHERE expires_at > '-infinity'
  ), remembered AS (
    ${remember('expired', '$1')}
  ), memberships AS (
    DELETE FROM antiphon.session_responses s USING expired WHERE s.owner = expired.owner AND s.response_id = expired.id
  )
  SELECT expires_at::text, owner, id, ${notifyReplicas('gone')} AS notices, expired.id IN (
    SELECT c.parent_id FROM antiphon.responses c WHERE c.owner = expired.owner AND c.parent_id = expired.id
  ) AS needed FROM expired ORDER BY expired.expires_at, owner, id`,
);

type Keys = readonly [owners: readonly string[], ids: readonly string[]];

/**
 * Locks invisible responses with some of their invisible ancestors, so that no new response can continue them. Always
 * in this order, to avoid deadlocks.
 */
export const HOLD_TOMBSTONES = adHoc<readonly [...Keys, now: Date, limit: number], Key>(
  `WITH RECURSIVE up AS (
    SELECT r.owner, r.id, r.parent_id FROM unnest($1::text[], $2::text[]) AS key (owner, id)
    JOIN antiphon.responses r ON r.owner = key.owner AND r.id = key.id WHERE r.expires_at <= $3
    UNION
    SELECT r.owner, r.id, r.parent_id FROM up CROSS JOIN LATERAL (
      SELECT owner, id, parent_id FROM antiphon.responses
      WHERE owner = up.owner AND id = up.parent_id AND expires_at <= $3 OFFSET 0
    ) r
  ), nearest AS MATERIALIZED (
    SELECT owner, id FROM up LIMIT $4
  )
  SELECT r.owner, r.id FROM nearest JOIN antiphon.responses r ON r.owner = nearest.owner AND r.id = nearest.id
  WHERE r.expires_at <= $3 ORDER BY r.owner, r.id FOR UPDATE OF r`,
);

/** The responses that continue them. */
export const CHILDREN_OF = adHoc<Keys, Key & { readonly parent_id: string }>(
  `SELECT r.owner, r.parent_id, r.id FROM unnest($1::text[], $2::text[]) AS key (owner, id)
  JOIN antiphon.responses r ON r.owner = key.owner AND r.parent_id = key.id`,
);

/** Frees them; returns their parents. They may have expired since the last sweep. */
export const FREE = adHoc<readonly [...Keys, now: Date], Key>(
  `WITH freed AS (
    DELETE FROM antiphon.responses r USING unnest($1::text[], $2::text[]) AS key (owner, id)
    WHERE r.owner = key.owner AND r.id = key.id
    RETURNING r.owner, r.id, r.parent_id
  ), remembered AS (
    ${remember('freed', '$3')}
  )
  SELECT owner, parent_id AS id FROM freed WHERE parent_id IS NOT NULL EXCEPT SELECT owner, id FROM freed`,
);
