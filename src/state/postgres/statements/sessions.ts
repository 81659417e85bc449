import { adHoc, prepared } from '../statement.js';
import type { GoneRow } from './delete.js';
import { tellOf } from './visible.js';

/**
 * Holds all sessions of a tenant until the end of the transaction: what forks or deletes one has to see what others did. A
 * statement of its own, because the next one sees only what was there when it began.
 */
export const HOLD_SESSIONS = adHoc<readonly [tenant: string], never>(
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon sessions ' || $1, 0))`,
);

/** The values of FORK, in their order; without a limit all responses are shared. */
export type ForkValues = readonly [
  tenant: string,
  now: Date,
  sourceId: string,
  targetId: string,
  upToResponseId: string | null,
  limit: number | null,
];

/** What was found, and how many responses there are to share, counted up to one more than the limit. */
export interface ForkRow {
  readonly has_source: boolean;
  readonly has_response: boolean;
  readonly has_target: boolean;
  readonly responses: number;
}

const VISIBLE_MEMBERS = `antiphon.session_responses s JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = $1 AND r.expires_at > $2`;

/** Lets a new session share the responses of another one, up to and including one of them; none is deleted meanwhile. */
export const FORK = adHoc<ForkValues, ForkRow>(
  `WITH last AS (
    SELECT s.created_at, s.response_id FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 AND s.response_id = $5
  ), target AS (
    SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $4 LIMIT 1
  ), shared AS MATERIALIZED (
    SELECT s.created_at, s.response_id FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 AND ($5::text IS NULL
      OR (s.created_at, s.response_id) <= ((SELECT created_at FROM last), (SELECT response_id FROM last)))
    ORDER BY s.created_at, s.response_id LIMIT $6::bigint + 1 FOR SHARE OF r
  ), forked AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT $1, $4, created_at, response_id FROM shared
    WHERE NOT EXISTS (SELECT FROM target) AND ($6::bigint IS NULL OR (SELECT count(*) FROM shared) <= $6)
    ON CONFLICT DO NOTHING
  )
  SELECT EXISTS (SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $3) AS has_source,
    $5::text IS NULL OR EXISTS (SELECT FROM last) AS has_response, EXISTS (SELECT FROM target) AS has_target,
    (SELECT count(*) FROM shared)::integer AS responses`,
);

/** What was deleted with a session. */
export interface DeletedSessionRow extends GoneRow {
  /** Whether it had responses that could be seen. */
  readonly known: boolean;
}

/** Deletes a session, and takes those of its responses out of sight that belong to no other one. */
export const DELETE_SESSION = adHoc<readonly [tenant: string, now: Date, sessionId: string], DeletedSessionRow>(
  `WITH members AS (
    DELETE FROM antiphon.session_responses WHERE owner = $1 AND session_id = $3 RETURNING response_id AS id
  ), gone AS (
    UPDATE antiphon.responses r SET expires_at = '-infinity' FROM members
    WHERE r.owner = $1 AND r.id = members.id AND r.expires_at > $2 AND NOT EXISTS (
      SELECT FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id AND s.session_id <> $3)
    RETURNING r.id
  )
  SELECT array(SELECT id FROM gone) AS ids, ${tellOf('members')} AS notices, EXISTS (
    SELECT FROM members JOIN antiphon.responses r ON r.owner = $1 AND r.id = members.id WHERE r.expires_at > $2
  ) AS known`,
);

/** Whether a session has at least so many responses that can be seen. The index alone mostly says no. */
export const HAS_AT_LEAST = prepared<
  readonly [tenant: string, now: Date, sessionId: string, responses: number],
  { readonly has: boolean }
>(
  'has_at_least',
  `SELECT (SELECT count(*) FROM (
    SELECT FROM antiphon.session_responses WHERE owner = $1 AND session_id = $3 LIMIT $4
  ) members) >= $4 AND (SELECT count(*) FROM (SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 LIMIT $4) seen) >= $4 AS has`,
);
