import type { Tenant } from '../../../access/index.js';
import type { Clock } from '../../../time/index.js';
import { toKey } from '../../keys.js';
import { CHANNELS } from '../channels.js';

/**
 * The condition for response `r` to be visible; part of every look-up. `$1` is the tenant, `$2` the time, `$3` the
 * session of the look-up or null. Not with EXISTS: PostgreSQL would read the whole session for one response.
 */
export const VISIBLE = `r.owner = $1 AND r.expires_at > $2 AND ($3::text IS NULL OR $3 IN (
    SELECT s.session_id FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id))`;

/** The values that VISIBLE refers to. */
export type Viewer = readonly [tenant: string, now: Date, within: string | null];

/** The table `subtree` of a recursive query: the visible response `$4` and, with `$5`, all responses that continue it. */
export const SUBTREE = `subtree AS (
    SELECT r.id FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    UNION ALL
    SELECT r.id FROM subtree CROSS JOIN LATERAL (
      SELECT id FROM antiphon.responses WHERE $5 AND owner = $1 AND parent_id = subtree.id OFFSET 0
    ) r
  )`;

/** The output items of response `r` as comma-separated JSON texts; null when there are none. */
export const OUTPUT_OF_RESPONSE = `(SELECT string_agg(i.body, ',' ORDER BY i.position) FROM antiphon.items i
    WHERE i.owner = r.owner AND i.response_id = r.id AND i.kind = 'output')`;

/**
 * Notifies other replicas of deleted responses, whose ids are in a table, several per notice: a notice is limited to 8000 bytes. Returns the
 * number of notices.
 */
export function notifyReplicas(table: string): string {
  return `(SELECT count(pg_notify('${CHANNELS.deleted}', notices.ids)) FROM (
    SELECT string_agg(id, ' ') AS ids
    FROM (SELECT id, (row_number() OVER () - 1) / 20 AS part FROM ${table}) parts GROUP BY part) notices)`;
}

/** The tenant, the time and the session, as the first values of every look-up. */
export function viewerOf(tenant: Tenant, clock: Clock, within: string | undefined): Viewer {
  return [toKey(tenant), new Date(clock.now()), within === undefined ? null : toKey(within)];
}
