import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { toKey } from '../keys.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import { adHoc, prepared } from '../sql/statement.js';
import type { Database } from './database.js';
import { remember } from './statements/bookmarks.js';
import { notifyReplicas } from './statements/visible.js';
import type { GoneRow, PostgresTombstones } from './tombstones.js';

/**
 * Locks all sessions of a tenant until the end of the transaction, so that forks and deletions see each other's
 * results. A separate statement, because each one sees only what was committed before it began.
 */
const HOLD_SESSIONS = adHoc<readonly [tenant: string], never>(
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon sessions ' || $1, 0))`,
);

/** The values of FORK, in order; without a limit all responses are shared, by any number of sessions. */
type ForkValues = readonly [
  tenant: string,
  now: Date,
  sourceId: string,
  targetId: string,
  upToResponseId: string | null,
  limit: number | null,
  forkLimit: number | null,
];

/** The preconditions, and the number of responses to share, counted up to one more than the limit. */
interface ForkRow {
  readonly has_source: boolean;
  readonly has_response: boolean;
  readonly has_target: boolean;
  readonly responses: number;
  /** Whether as many sessions share the first of them as may. */
  readonly is_crowded: boolean;
}

const VISIBLE_MEMBERS = `antiphon.session_responses s JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = $1 AND r.expires_at > $2`;

/** Adds the responses of a session, up to and including one of them, to a new session; locks them against deletion. */
const FORK = adHoc<ForkValues, ForkRow>(
  `WITH last AS (
    SELECT s.created_at, s.response_id FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 AND s.response_id = $5
  ), target AS (
    SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $4 LIMIT 1
  ), shared AS MATERIALIZED (
    SELECT s.created_at, s.response_id FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 AND ($5::text IS NULL
      OR (s.created_at, s.response_id) <= ((SELECT created_at FROM last), (SELECT response_id FROM last)))
    ORDER BY s.created_at, s.response_id LIMIT $6::bigint + 1 FOR SHARE OF r
  ), crowded AS (
    SELECT count(*) >= $7 AS crowded FROM (
      SELECT FROM antiphon.session_responses f
        JOIN (SELECT response_id FROM shared ORDER BY created_at, response_id LIMIT 1) first USING (response_id)
        JOIN antiphon.responses r ON r.owner = f.owner AND r.id = f.response_id
      WHERE f.owner = $1 AND f.session_id <> r.session_id LIMIT $7
    ) forks
  ), forked AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT $1, $4, created_at, response_id FROM shared
    WHERE NOT EXISTS (SELECT FROM target) AND ($6::bigint IS NULL OR (SELECT count(*) FROM shared) <= $6)
      AND ($7::bigint IS NULL OR NOT (SELECT crowded FROM crowded))
    ON CONFLICT DO NOTHING
  )
  SELECT EXISTS (SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $3) AS has_source,
    $5::text IS NULL OR EXISTS (SELECT FROM last) AS has_response, EXISTS (SELECT FROM target) AS has_target,
    (SELECT count(*) FROM shared)::integer AS responses,
    $7::bigint IS NOT NULL AND (SELECT crowded FROM crowded) AS is_crowded`,
);

/** The result of DELETE_SESSION. */
interface DeletedSessionRow extends GoneRow {
  /** The responses of the session; those that are not gone belong to another session from now on. */
  readonly members: readonly string[];
  /** Whether it had visible responses. */
  readonly known: boolean;
}

/** Deletes a session, and hides its responses that belong to no other one. */
const DELETE_SESSION = adHoc<readonly [tenant: string, now: Date, sessionId: string], DeletedSessionRow>(
  `WITH members AS (
    DELETE FROM antiphon.session_responses WHERE owner = $1 AND session_id = $3 RETURNING response_id AS id
  ), gone AS (
    UPDATE antiphon.responses r SET expires_at = '-infinity' FROM members
    WHERE r.owner = $1 AND r.id = members.id AND r.expires_at > $2 AND NOT EXISTS (
      SELECT FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id AND s.session_id <> $3)
    RETURNING r.owner, r.id
  ), remembered AS (
    ${remember('gone', '$2')}
  )
  SELECT array(SELECT id FROM gone) AS ids, array(SELECT id FROM members) AS members,
    ${notifyReplicas('members')} AS notices, EXISTS (
    SELECT FROM members JOIN antiphon.responses r ON r.owner = $1 AND r.id = members.id WHERE r.expires_at > $2
  ) AS known`,
);

/** Whether a session has at least so many visible responses. Usually the index alone decides that it has not. */
const HAS_AT_LEAST = prepared<
  readonly [tenant: string, now: Date, sessionId: string, responses: number],
  { readonly has: boolean }
>(
  'has_at_least',
  `SELECT (SELECT count(*) FROM (
    SELECT FROM antiphon.session_responses WHERE owner = $1 AND session_id = $3 LIMIT $4
  ) members) >= $4 AND (SELECT count(*) FROM (SELECT FROM ${VISIBLE_MEMBERS} AND s.session_id = $3 LIMIT $4) seen) >= $4 AS has`,
);

/** Sessions of responses in PostgreSQL. */
export class PostgresSessionStore extends SessionStore {
  constructor(
    private readonly database: Database,
    private readonly tombstones: PostgresTombstones,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async fork(
    tenant: Tenant,
    { sourceId, targetId, upToResponseId, limit, forkLimit }: ForkRequest,
  ): Promise<ForkOutcome> {
    const key = toKey(tenant);
    const upTo = upToResponseId === undefined ? null : toKey(upToResponseId);
    const now = new Date(this.clock.now());
    const values = [key, now, toKey(sourceId), toKey(targetId), upTo, limit ?? null, forkLimit ?? null] as const;
    const [row] = await this.database.transaction(async (run) => {
      await run(HOLD_SESSIONS, [key]);
      return run(FORK, values);
    });
    if (row?.has_source !== true) return { refused: 'source_not_found' };
    if (!row.has_response) return { refused: 'response_not_found' };
    if (row.has_target) return { refused: 'target_exists' };
    if (row.responses > (limit ?? Infinity)) return { refused: 'too_many_responses' };
    if (row.is_crowded) return { refused: 'too_many_forks' };
    return { responses: row.responses };
  }

  override async delete(tenant: Tenant, sessionId: string): Promise<boolean> {
    const key = toKey(tenant);
    const values = [key, new Date(this.clock.now()), toKey(sessionId)] as const;
    const [row] = await this.database.transaction(async (run) => {
      await run(HOLD_SESSIONS, [key]);
      return run(DELETE_SESSION, values);
    });
    if (row === undefined) return false;
    await this.tombstones.bury(key, row.ids, row.members);
    return row.known;
  }

  override async hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean> {
    const values = [toKey(tenant), new Date(this.clock.now()), toKey(sessionId), responses] as const;
    const [row] = await this.database.repeatable(HAS_AT_LEAST, values);
    return row?.has === true;
  }
}
