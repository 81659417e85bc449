import { adHoc, prepared } from '../../sql/statement.js';
import { JOBS_SCHEMA } from '../migrate-jobs.js';

/** All that have something. The name as JSON, if one of their background responses tells it. */
export const TENANTS = adHoc<readonly [], { readonly owner: string; readonly name: string | null }>(
  `SELECT owner, (SELECT tenant FROM antiphon.background_runs b WHERE b.owner = known.owner LIMIT 1) AS name
  FROM (SELECT owner FROM antiphon.responses UNION SELECT owner FROM antiphon.conversations) known ORDER BY owner`,
);

export const ALL_SECRETS = adHoc<readonly [], { readonly name: string; readonly value: string }>(
  'SELECT name, value FROM antiphon.secrets ORDER BY name',
);

/** A conversation without its items. */
export interface MovedConversationRow {
  readonly id: string;
  readonly created_at: Date;
  readonly metadata: string;
  readonly version: string;
  readonly end_position: string;
  readonly is_deleted: boolean;
}

/** The conversations of a tenant after one of them. */
export const CONVERSATIONS_AFTER = adHoc<
  readonly [owner: string, id: string | null, limit: number],
  MovedConversationRow
>(
  `SELECT id, created_at, metadata, version, end_position, is_deleted FROM antiphon.conversations
  WHERE owner = $1 AND ($2::text IS NULL OR id > $2) ORDER BY id LIMIT $3`,
);

/** The entries of a conversation after a position, up to so many bytes, at least one. */
export const ENTRIES_AFTER = adHoc<
  readonly [owner: string, conversationId: string, position: string, limit: number, bytes: number],
  { readonly position: string; readonly is_given: boolean; readonly body: string }
>(
  `SELECT position, is_given, body FROM (
    SELECT position, is_given, body, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS before FROM (
      SELECT position, is_given, body FROM antiphon.conversation_items
      WHERE owner = $1 AND conversation_id = $2 AND position > $3 ORDER BY position LIMIT $4
    ) next
  ) part WHERE before < $5 ORDER BY position`,
);

/**
 * Opens a cursor over the responses of a tenant, with their bytes: each after the one that it continues, otherwise in the order
 * of their creation.
 */
export const OPEN_RESPONSES = adHoc<readonly [owner: string], never>(
  `DECLARE moved_responses CURSOR FOR WITH RECURSIVE walk AS (
    SELECT id, created_at, size + items_size AS bytes, 0 AS level FROM antiphon.responses
    WHERE owner = $1 AND parent_id IS NULL
    UNION ALL
    SELECT r.id, greatest(r.created_at, walk.created_at), r.size + r.items_size, walk.level + 1
    FROM walk CROSS JOIN LATERAL (
      SELECT id, created_at, size, items_size FROM antiphon.responses WHERE owner = $1 AND parent_id = walk.id OFFSET 0
    ) r
  )
  SELECT id, bytes FROM walk ORDER BY created_at, level, id`,
);

/** The next ones. */
export const NEXT_RESPONSES = adHoc<readonly [], { readonly id: string; readonly bytes: string }>(
  'FETCH 1000 FROM moved_responses',
);

/** A response with everything but its events. */
export interface MovedResponseRow {
  readonly id: string;
  readonly parent_id: string | null;
  /** The body of the response that it continues, or of the one that its session is named after, where an id is a digest. */
  readonly parent_body: string | null;
  readonly session_id: string;
  readonly session_body: string | null;
  readonly sessions: readonly string[];
  readonly status: string;
  readonly expires_at: Date | number;
  readonly origin: string | null;
  readonly body: string;
  readonly conversation_id: string | null;
  readonly conversation_end: string | null;
  /** The items: their kinds, and their texts separated by commas. */
  readonly kinds: string | null;
  readonly items: string | null;
  /** Null: it never was in the background. */
  readonly turn: string | null;
  readonly is_stream: boolean;
  readonly attempts: number;
  readonly log_expires_at: Date | number | null;
}

/** Responses by id, in the order of the ids. */
export const MOVED_RESPONSES = adHoc<readonly [owner: string, ids: readonly string[]], MovedResponseRow>(
  `SELECT r.id, r.parent_id, r.session_id, r.status, r.expires_at, r.origin, r.body, r.conversation_id, r.conversation_end,
    ${bodyOfDigest('r.parent_id')} AS parent_body, ${bodyOfDigest('r.session_id')} AS session_body,
    array(SELECT session_id FROM antiphon.session_responses s WHERE s.owner = $1 AND s.response_id = r.id) AS sessions,
    i.kinds, i.items, b.turn, b.is_stream, b.attempts, b.log_expires_at
  FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, place)
    JOIN antiphon.responses r ON r.owner = $1 AND r.id = wanted.id
    LEFT JOIN antiphon.background_runs b ON b.owner = $1 AND b.response_id = r.id
    CROSS JOIN LATERAL (
      SELECT string_agg(kind, ',' ORDER BY position) AS kinds, string_agg(body, ',' ORDER BY position) AS items
      FROM antiphon.items WHERE owner = $1 AND response_id = r.id
    ) i
  ORDER BY wanted.place`,
);

/** Opens a cursor over the jobs that are not done. */
export const OPEN_JOBS = adHoc<readonly [], never>(
  `DECLARE moved_jobs CURSOR FOR SELECT id, name, data->>'body' AS body FROM ${JOBS_SCHEMA}.job
  WHERE state IN ('created', 'retry', 'active') ORDER BY created_on, id`,
);

/** The next ones. */
export const NEXT_JOBS = adHoc<readonly [], { readonly id: string; readonly name: string; readonly body: string }>(
  'FETCH 1000 FROM moved_jobs',
);

/** Stores a conversation without its items, once. */
export const MOVE_CONVERSATION = adHoc<
  readonly [
    owner: string,
    id: string,
    createdAt: Date,
    metadata: string,
    version: number,
    end: number,
    isDeleted: boolean,
  ],
  { readonly is_new: true }
>(
  `INSERT INTO antiphon.conversations (owner, id, created_at, metadata, version, end_position, items_size, is_deleted)
  VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT DO NOTHING RETURNING true AS is_new`,
);

/** Stores items of a conversation, once, if that has the version. */
export const MOVE_ENTRIES = adHoc<
  readonly [
    owner: string,
    id: string,
    version: number,
    positions: readonly number[],
    areGiven: readonly boolean[],
    keys: readonly string[],
    bodies: readonly string[],
  ],
  never
>(
  `WITH conversation AS MATERIALIZED (
    SELECT owner, id FROM antiphon.conversations WHERE owner = $1 AND id = $2 AND version = $3 FOR UPDATE
  ), added AS (
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT owner, id, item.position, item.is_given, item.key, item.body
    FROM conversation, unnest($4::bigint[], $5::boolean[], $6::text[], $7::text[]) AS item (position, is_given, key, body)
    ON CONFLICT DO NOTHING RETURNING octet_length(body) AS size
  )
  UPDATE antiphon.conversations c SET items_size = c.items_size + (SELECT coalesce(sum(size), 0) FROM added)
  FROM conversation WHERE c.owner = conversation.owner AND c.id = conversation.id`,
);

/** The values of MOVE_RESPONSE, in order. */
export type MoveResponseValues = readonly [
  owner: string,
  id: string,
  parentId: string | null,
  sessionId: string,
  sessions: readonly string[],
  status: string,
  model: string,
  createdAt: Date,
  expiresAt: Date | string,
  labels: readonly string[] | null,
  origin: string | null,
  size: number,
  itemsSize: number,
  body: string,
  isContinuable: boolean,
  conversationId: string | null,
  conversationEnd: number | null,
  itemKinds: readonly string[],
  itemKeys: readonly string[],
  itemBodies: readonly string[],
];

/** Stores a response with its items, once, if the response that it continues is there. */
export const MOVE_RESPONSE = prepared<MoveResponseValues, { readonly is_new: boolean; readonly linked: boolean }>(
  'move_response',
  `WITH parent AS MATERIALIZED (
    SELECT FROM antiphon.responses WHERE owner = $1 AND id = $3 FOR KEY SHARE
  ), saved AS (
    INSERT INTO antiphon.responses (owner, id, parent_id, session_id, status, model, created_at, expires_at, labels,
      origin, size, items_size, body, is_continuable, conversation_id, conversation_end)
    SELECT $1, $2, $3, $4, $6, $7, $8::timestamptz, $9::timestamptz, $10::text[], $11, $12::bigint, $13::bigint, $14,
      $15::boolean, $16, $17::bigint
    WHERE $3::text IS NULL OR EXISTS (SELECT FROM parent)
    ON CONFLICT DO NOTHING RETURNING owner, id, created_at
  ), members AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT owner, session_id, created_at, id FROM saved, unnest($5::text[]) AS session_id
  ), items AS (
    INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
    SELECT saved.owner, saved.id, item.position, item.kind, item.item_key, item.body
    FROM saved, unnest($18::text[], $19::text[], $20::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
  )
  SELECT EXISTS (SELECT FROM saved) AS is_new, $3::text IS NULL OR EXISTS (SELECT FROM parent) OR EXISTS (
    SELECT FROM antiphon.responses WHERE owner = $1 AND id = $2) AS linked`,
);

/** Adds the run and the events of a response that was stored in the same transaction. */
export const MOVE_RUN = adHoc<
  readonly [
    owner: string,
    responseId: string,
    tenant: string,
    turn: string,
    isStream: boolean,
    attempts: number,
    logExpiresAt: Date | string | null,
    firstEvents: readonly number[],
    firstNotes: readonly number[],
    events: readonly string[],
    notes: readonly (string | null)[],
    haveItems: readonly boolean[],
  ],
  never
>(
  `WITH run AS (
    INSERT INTO antiphon.background_runs (owner, response_id, tenant, turn, is_stream, attempts, log_expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz)
  )
  INSERT INTO antiphon.event_log (owner, response_id, first_event, first_note, events, notes, has_items)
  SELECT $1, $2, batch.* FROM unnest($8::integer[], $9::integer[], $10::text[], $11::text[], $12::boolean[]) AS batch`,
);

/** The body of the response that a column names, where its value is a digest. */
function bodyOfDigest(column: string): string {
  return `CASE WHEN ${column} LIKE ' %' THEN (
      SELECT named.body FROM antiphon.responses named WHERE named.owner = $1 AND named.id = ${column}) END`;
}
