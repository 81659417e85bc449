import { adHoc, prepared } from '../statement.js';
import type { GoneRow } from './delete.js';
import { TELL_OF_GONE } from './visible.js';

/**
 * Holds all sessions of an owner until the end of the transaction: what forks or deletes one has to see what others did. A
 * statement of its own, because the next one sees only what was there when it began.
 */
export const HOLD_SESSIONS = adHoc<readonly [owner: string], never>(
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon sessions ' || $1, 0))`,
);

/** The values of FORK, in their order. */
export type ForkValues = readonly [
  owner: string,
  now: Date,
  sourceId: string,
  targetId: string,
  upToResponseId: string | null,
];

/** What was found, and how many responses the new session shares. */
export interface ForkRow {
  readonly has_source: boolean;
  readonly has_response: boolean;
  readonly has_target: boolean;
  readonly responses: number;
}

/** Lets a new session share the responses of another one, up to and including one of them; none is deleted meanwhile. */
export const FORK = adHoc<ForkValues, ForkRow>(
  `WITH source AS MATERIALIZED (
    SELECT s.created_at, s.response_id FROM antiphon.session_responses s
    JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = $1 AND s.session_id = $3 AND r.expires_at > $2
    FOR SHARE OF r
  ), last AS (
    SELECT created_at, response_id FROM source WHERE response_id = $5
  ), target AS (
    SELECT FROM antiphon.session_responses s JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = $1 AND s.session_id = $4 AND r.expires_at > $2 LIMIT 1
  ), forked AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT $1, $4, created_at, response_id FROM source
    WHERE NOT EXISTS (SELECT FROM target) AND ($5::text IS NULL
      OR (created_at, response_id) <= ((SELECT created_at FROM last), (SELECT response_id FROM last)))
    ON CONFLICT DO NOTHING
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM source) AS has_source, $5::text IS NULL OR EXISTS (SELECT FROM last) AS has_response,
    EXISTS (SELECT FROM target) AS has_target, (SELECT count(*) FROM forked)::integer AS responses`,
);

/** What was deleted with a session. */
export interface DeletedSessionRow extends GoneRow {
  /** Whether it had responses that could be seen. */
  readonly known: boolean;
}

/** Deletes a session, and takes those of its responses out of sight that belong to no other one. */
export const DELETE_SESSION = adHoc<readonly [owner: string, now: Date, sessionId: string], DeletedSessionRow>(
  `WITH members AS (
    DELETE FROM antiphon.session_responses WHERE owner = $1 AND session_id = $3 RETURNING response_id AS id
  ), gone AS (
    UPDATE antiphon.responses r SET expires_at = '-infinity' FROM members
    WHERE r.owner = $1 AND r.id = members.id AND r.expires_at > $2 AND NOT EXISTS (
      SELECT FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id AND s.session_id <> $3)
    RETURNING r.id
  )
  SELECT array(SELECT id FROM gone) AS ids, ${TELL_OF_GONE} AS notices, EXISTS (
    SELECT FROM members JOIN antiphon.responses r ON r.owner = $1 AND r.id = members.id WHERE r.expires_at > $2
  ) AS known`,
);

/** Whether a session has at least so many responses that can be seen; it counts no further. */
export const HAS_AT_LEAST = prepared<
  readonly [owner: string, now: Date, sessionId: string, responses: number],
  { readonly has: boolean }
>(
  'has_at_least',
  `SELECT count(*) >= $4 AS has FROM (
    SELECT FROM antiphon.session_responses s JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = $1 AND s.session_id = $3 AND r.expires_at > $2 LIMIT $4
  ) counted`,
);
