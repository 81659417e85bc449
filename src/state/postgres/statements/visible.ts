/**
 * The condition under which response `r` can be seen; every look-up has it. `$1` is the tenant, `$2` the time, `$3` the session
 * that the look-up names or null. Not with EXISTS: PostgreSQL would read the whole session for one response.
 */
export const VISIBLE = `r.owner = $1 AND r.expires_at > $2 AND ($3::text IS NULL OR $3 IN (
    SELECT s.session_id FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id))`;

/** The values that VISIBLE refers to. */
export type Viewer = readonly [tenant: string, now: Date, within: string | null];

/** The output items of response `r` as JSON texts with commas between them; null when there are none. */
export const OUTPUT_OF_RESPONSE = `(SELECT string_agg(i.body, ',' ORDER BY i.position) FROM antiphon.items i
    WHERE i.owner = r.owner AND i.response_id = r.id AND i.kind = 'output')`;

/** Tells other replicas of the ids in a table, some to a notice: one may have 8000 bytes. Gives the number of notices. */
export function tellOf(table: string): string {
  return `(SELECT count(pg_notify('antiphon_deleted', notices.ids)) FROM (
    SELECT string_agg(id, ' ') AS ids
    FROM (SELECT id, (row_number() OVER () - 1) / 20 AS part FROM ${table}) parts GROUP BY part) notices)`;
}
