import { CHANNELS } from '../channels.js';
import { adHoc, prepared } from '../../sql/statement.js';
import { LOG_PAGE_LIMITS } from '../../event-log.js';
import type { BatchColumns, BatchRow } from '../../log-columns.js';
import { EARLIER, IN_CONVERSATION, pathFrom, WEIGHT } from './read.js';
import { SUBTREE, type Viewer, VISIBLE } from './visible.js';
import { insertUsage } from '../usage.js';

type Names = readonly [tenant: string, responseId: string];

/** A run that may still write, of any attempt. Whether it has ended is only asked of its own row, which is locked. */
const UNFINISHED = `b.owner = $1 AND b.response_id = $2 AND b.log_expires_at IS NULL AND EXISTS (
    SELECT FROM antiphon.responses r WHERE r.owner = $1 AND r.id = $2 AND r.expires_at > $3)`;

/** Makes creations of a tenant wait for each other, so that each sees how many are queued. */
export const HOLD_QUEUE = adHoc<readonly [tenant: string], never>(
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon queue ' || $1, 0))`,
);

/** Whether the bounds are reached, counted no further than that. */
export const COUNT_QUEUED = prepared<
  readonly [tenant: string, total: number, perTenant: number],
  { readonly total: boolean; readonly per_tenant: boolean }
>(
  'count_queued',
  `SELECT (SELECT count(*) FROM (
      SELECT FROM antiphon.responses WHERE status = 'queued' AND expires_at > now() LIMIT greatest($2, 0)) queued) >= $2 AS total,
    (SELECT count(*) FROM (
      SELECT FROM antiphon.responses WHERE owner = $1 AND status = 'queued' AND expires_at > now() LIMIT greatest($3, 0)
    ) queued) >= $3 AS per_tenant`,
);

/** Adds the run and the first events of a response that was saved in the same transaction. */
export const CREATE_RUN = prepared<
  readonly [...Names, owner: string, turn: string, isStream: boolean, isContinuable: boolean, ...BatchColumns],
  never
>(
  'create_run',
  `WITH run AS (
    INSERT INTO antiphon.background_runs (owner, response_id, tenant, turn, is_stream) VALUES ($1, $2, $3, $4, $5)
  ), response AS (
    UPDATE antiphon.responses SET is_continuable = false WHERE owner = $1 AND id = $2 AND NOT $6::boolean
  )
  INSERT INTO antiphon.event_log (owner, response_id, first_event, first_note, events, notes, has_items)
  VALUES ($1, $2, $7, $8, $9, $10, $11)`,
);

/** A run that has started. */
export interface StartedRow {
  readonly turn: string;
  readonly attempts: number;
  readonly is_restart: boolean;
  readonly session_id: string;
  readonly parent_id: string | null;
}

/** Begins an attempt, unless a later one has begun. */
export const START = prepared<readonly [...Names, now: Date, attempt: number], StartedRow>(
  'start',
  `WITH run AS (
    UPDATE antiphon.background_runs b SET attempt = $4, attempts = b.attempts + 1
    WHERE ${UNFINISHED} AND b.attempt < $4
    RETURNING b.turn, b.attempts
  )
  SELECT run.turn, run.attempts, r.status <> 'queued' OR run.attempts > 1 AS is_restart, r.session_id, r.parent_id
  FROM run, antiphon.responses r WHERE r.owner = $1 AND r.id = $2`,
);

/** Does not count an attempt. */
export const HAND_BACK = prepared<readonly [...Names, now: Date, attempt: number], never>(
  'hand_back',
  `UPDATE antiphon.background_runs b SET attempts = b.attempts - 1 WHERE ${UNFINISHED} AND b.attempt = $4`,
);

/** The response that a run continues, visible or not. */
export interface ParentRow {
  readonly origin: string | null;
  readonly expires_at: Date;
}

export const PARENT = prepared<Names, ParentRow>(
  'parent',
  `SELECT origin, expires_at FROM antiphon.responses WHERE owner = $1 AND id = $2`,
);

/** The items before a run's output as comma-separated JSON texts, those of its ancestors included. */
export interface ContextRow {
  /** Null when the response is not stored any more. */
  readonly too_large: boolean | null;
  /** What a conversation had before the earliest response. */
  readonly earlier: string | null;
  readonly context: string | null;
  readonly in_conversation: boolean;
  readonly input: string | null;
}

export const CONTEXT = prepared<readonly [...Names, maxBytes: number], ContextRow>(
  'context',
  `WITH RECURSIVE ${pathFrom('r.owner = $1 AND r.id = $2')}, weight AS (
    SELECT ${WEIGHT} > $3 AS too_large FROM path
  ), items AS (
    SELECT path.level, i.position, i.body, path.level = 0 AND i.kind = 'input' AS is_input
    FROM weight, path CROSS JOIN LATERAL (
      SELECT position, kind, body FROM antiphon.items WHERE owner = $1 AND response_id = path.id OFFSET 0
    ) i
    WHERE NOT weight.too_large
  )
  SELECT weight.too_large, ${IN_CONVERSATION} AS in_conversation,
    CASE WHEN NOT weight.too_large THEN (
      SELECT string_agg(c.body, ',' ORDER BY path.level DESC, c.position) FROM ${EARLIER}
    ) END AS earlier,
    (SELECT string_agg(body, ',' ORDER BY level DESC, position) FROM items WHERE NOT is_input) AS context,
    (SELECT string_agg(body, ',' ORDER BY position) FROM items WHERE is_input) AS input
  FROM weight`,
);

/** The whole log of a run. */
export const WHOLE_LOG = prepared<Names, BatchRow>(
  'whole_log',
  `SELECT first_event, events, notes FROM antiphon.event_log WHERE owner = $1 AND response_id = $2
  ORDER BY first_event, first_note`,
);

/** The batches of a log that say something about finished items. */
export const ITEMS_OF_LOG = prepared<Names, BatchRow>(
  'items_of_log',
  `SELECT first_event, events, notes FROM antiphon.event_log WHERE owner = $1 AND response_id = $2 AND has_items
  ORDER BY first_event, first_note`,
);

/** Whether the run may still write. */
export interface WrittenRow {
  readonly is_ours: boolean;
}

/**
 * Appends a batch if the attempt is the latest and the response has not ended; a later attempt waits until it is
 * stored. With `begins`, the response leaves the queue. Idempotent.
 */
export const APPEND = prepared<
  readonly [...Names, now: Date, attempt: number, ...BatchColumns, begins: boolean],
  WrittenRow
>(
  'append',
  `WITH run AS MATERIALIZED (
    SELECT FROM antiphon.background_runs b WHERE ${UNFINISHED} AND b.attempt = $4 FOR SHARE
  ), added AS (
    INSERT INTO antiphon.event_log (owner, response_id, first_event, first_note, events, notes, has_items)
    SELECT $1, $2, $5, $6, $7, $8, $9 FROM run ON CONFLICT DO NOTHING
  ), begun AS (
    UPDATE antiphon.responses r SET status = 'in_progress' FROM run
    WHERE r.owner = $1 AND r.id = $2 AND $10::boolean AND r.status = 'queued'
  )
  SELECT EXISTS (SELECT FROM run) AS is_ours`,
);

/** The values of END, in order. Without an attempt, any may run. */
export type EndValues = readonly [
  ...Names,
  now: Date,
  attempt: number | null,
  ...BatchColumns,
  status: string,
  expiresAt: Date,
  origin: string | null,
  size: number,
  itemsSize: number,
  body: string,
  logExpiresAt: Date,
  fence: number | null,
  itemKinds: readonly string[],
  itemKeys: readonly string[],
  itemBodies: readonly string[],
  /** The lock of the conversation; null: of the session. */
  lock: string | null,
  conversationId: string | null,
  version: number | null,
  omits: string | null,
  usage: string | null,
];

/** The outcome of END. */
export interface EndRow extends WrittenRow {
  readonly leased: boolean;
  /** The session whose lock was lost; null when it was not, or is that of a conversation. */
  readonly lost_session: string | null;
  /** False when its conversation has another version than the turn has read, or its run was lost. */
  readonly placed: boolean;
  /** Whether the run that was found may end. */
  readonly is_running: boolean;
}

/** The run that END ends. */
const ENDING = `${UNFINISHED} AND ($4::integer IS NULL OR b.attempt = $4) AND ($17::bigint IS NULL OR EXISTS (SELECT FROM lease))`;

/**
 * Ends a response, if its lease is the latest: its status, its output, and its last events. One that is deleted at the
 * same time stays deleted: its time is asked for again when its row is locked. In a conversation its input and output
 * are appended, if the conversation has the version that the turn has read; the run is locked before.
 */
export const END = prepared<EndValues, EndRow>(
  'end',
  `WITH lease AS MATERIALIZED (
    SELECT FROM antiphon.session_locks l JOIN antiphon.responses r ON l.session_id = coalesce($21, r.session_id)
    WHERE l.owner = $1 AND r.owner = $1 AND r.id = $2 AND l.fence = $17 FOR SHARE OF l
  ), ending AS MATERIALIZED (
    SELECT b.owner, b.response_id FROM antiphon.background_runs b WHERE $22::text IS NOT NULL AND ${ENDING} FOR UPDATE OF b
  ), entered AS MATERIALIZED (
    SELECT kind, item_key, body, row_number() OVER (ORDER BY part, position) AS place FROM (
      SELECT 1 AS part, i.kind, i.item_key, i.body, i.position FROM ending JOIN antiphon.items i
        ON i.owner = ending.owner AND i.response_id = ending.response_id AND i.kind = 'input' AND i.item_key IS DISTINCT FROM $24
      UNION ALL
      SELECT 2, item.kind, item.item_key, item.body, item.position
      FROM ending, unnest($18::text[], $19::text[], $20::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
    ) parts
  ), place AS (
    UPDATE antiphon.conversations c SET version = c.version + 1, end_position = c.end_position + added.count,
      items_size = c.items_size + added.size
    FROM ending, (SELECT count(*) AS count, coalesce(sum(octet_length(body)), 0) AS size FROM entered) added
    WHERE c.owner = ending.owner AND c.id = $22 AND c.version = $23 AND NOT c.is_deleted
    RETURNING c.owner, c.id, c.end_position - added.count AS start
  ), run AS (
    UPDATE antiphon.background_runs b SET log_expires_at = $16, turn = ''
    WHERE ${ENDING} AND ($22 IS NULL OR EXISTS (SELECT FROM place))
    RETURNING b.owner, b.response_id
  ), response AS (
    UPDATE antiphon.responses r SET status = $10, expires_at = $11, origin = $12, size = $13,
      items_size = r.items_size + $14, body = $15, conversation_id = place.id, conversation_end = place.start
    FROM run LEFT JOIN place ON true WHERE r.owner = run.owner AND r.id = run.response_id AND r.expires_at > $3
  ), items AS (
    INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
    SELECT run.owner, run.response_id, item.position + (
      SELECT coalesce(max(i.position), 0) FROM antiphon.items i WHERE i.owner = $1 AND i.response_id = $2
    ), item.kind, item.item_key, item.body
    FROM run, unnest($18::text[], $19::text[], $20::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
  ), appended AS (
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT place.owner, place.id, place.start + entered.place - 1, entered.kind = 'given', entered.item_key, entered.body
    FROM run, place, entered
  ), logged AS (
    INSERT INTO antiphon.event_log (owner, response_id, first_event, first_note, events, notes, has_items)
    SELECT owner, response_id, $5, $6, $7, $8, $9 FROM run
  ), used AS (
    ${insertUsage('$25', 'run, ')}
  )
  SELECT EXISTS (SELECT FROM run) AS is_ours, $17::bigint IS NULL OR EXISTS (SELECT FROM lease) AS leased,
    CASE WHEN $17::bigint IS NOT NULL AND $21 IS NULL AND NOT EXISTS (SELECT FROM lease) THEN (
      SELECT session_id FROM antiphon.responses WHERE owner = $1 AND id = $2
    ) END AS lost_session, EXISTS (SELECT FROM ending) AS is_running, $22 IS NULL OR EXISTS (SELECT FROM place) AS placed`,
);

/** Whether a log has this batch. */
export const IS_LOGGED = prepared<
  readonly [...Names, firstEvent: number, firstNote: number, events: string],
  { readonly is_logged: boolean }
>(
  'is_logged',
  `SELECT EXISTS (
    SELECT FROM antiphon.event_log WHERE owner = $1 AND response_id = $2 AND first_event = $3 AND first_note = $4 AND events = $5
  ) AS is_logged`,
);

/** A background response with its run, which is locked. */
export interface HeldRow {
  /** Whether it has not ended, and the attempt, if one is meant, is the latest. */
  readonly is_open: boolean;
  readonly turn: string;
  readonly body: string;
}

/** Locks a run: nothing can be logged until the end of the transaction. */
export const HOLD_RUN = adHoc<readonly [...Viewer, responseId: string, attempt: number | null], HeldRow>(
  `SELECT b.log_expires_at IS NULL AND ($5::integer IS NULL OR b.attempt = $5) AS is_open, b.turn, r.body
  FROM antiphon.responses r JOIN antiphon.background_runs b ON b.owner = r.owner AND b.response_id = r.id
  WHERE ${VISIBLE} AND r.id = $4 FOR UPDATE OF b`,
);

/** Tells all replicas that a response was ended from outside of its run. */
export const NOTIFY_ENDED = adHoc<readonly [responseId: string], never>(`SELECT pg_notify('${CHANNELS.ended}', $1)`);

/** Tells all replicas that events were added to logs. */
export const NOTIFY_LOGGED = prepared<readonly [payloads: readonly string[]], never>(
  'notify_logged',
  `SELECT pg_notify('${CHANNELS.logged}', payload) FROM unnest($1::text[]) AS payload`,
);

/** A batch of a page; a page without events is one row without a batch. */
export interface LogPageRow {
  /** Null: the response never was in the background. */
  readonly is_stream: boolean | null;
  readonly has_ended: boolean;
  readonly has_expired: boolean;
  readonly first_event: number | null;
  readonly events: string | null;
}

/** The batches from the one that contains an event on. */
export const LOG_PAGE = prepared<readonly [...Viewer, responseId: string, next: number], LogPageRow>(
  'log_page',
  `WITH page AS (
    SELECT first_event, events, sum(octet_length(events)) OVER (ORDER BY first_event, first_note) - octet_length(events) AS before
    FROM (
      SELECT first_event, first_note, events FROM antiphon.event_log
      WHERE owner = $1 AND response_id = $4 AND events <> '' AND first_event >= coalesce((
        SELECT max(first_event) FROM antiphon.event_log WHERE owner = $1 AND response_id = $4 AND events <> '' AND first_event <= $5
      ), 0)
      ORDER BY first_event, first_note LIMIT ${LOG_PAGE_LIMITS.batches}
    ) next
  )
  SELECT b.is_stream, b.log_expires_at IS NOT NULL AS has_ended, coalesce(b.log_expires_at <= $2, false) AS has_expired,
    page.first_event, page.events
  FROM antiphon.responses r LEFT JOIN antiphon.background_runs b ON b.owner = r.owner AND b.response_id = r.id
    LEFT JOIN page ON b.is_stream AND page.before < ${LOG_PAGE_LIMITS.bytes}
  WHERE ${VISIBLE} AND r.id = $4
  ORDER BY page.first_event`,
);

/** The unfinished ones of a response and, with `$5`, of all responses that continue it. */
export const UNFINISHED_OF = prepared<
  readonly [...Viewer, responseId: string, cascade: boolean],
  { readonly response_id: string }
>(
  'unfinished_of',
  `WITH RECURSIVE ${SUBTREE}
  SELECT b.response_id FROM subtree CROSS JOIN LATERAL (
    SELECT response_id FROM antiphon.background_runs
    WHERE owner = $1 AND response_id = subtree.id AND log_expires_at IS NULL OFFSET 0
  ) b`,
);

/** Queued responses that were created before a time, oldest first. */
export const QUEUED_BEFORE = adHoc<
  readonly [now: Date, createdBefore: Date, limit: number],
  { readonly tenant: string; readonly response_id: string }
>(
  `SELECT b.tenant, b.response_id FROM antiphon.responses r
  JOIN antiphon.background_runs b ON b.owner = r.owner AND b.response_id = r.id
  WHERE r.status = 'queued' AND r.expires_at > $1 AND r.created_at < $2 ORDER BY r.created_at LIMIT $3`,
);

/**
 * Deletes the events of ended responses whose time is over, a limited number of batches of a limited number of responses
 * at once.
 */
export const FORGET_LOGS = adHoc<
  readonly [now: Date, responses: number, batches: number],
  { readonly has_more: boolean }
>(
  `WITH expired AS MATERIALIZED (
    SELECT owner, response_id FROM antiphon.background_runs
    WHERE log_expires_at > '-infinity' AND log_expires_at <= $1 ORDER BY log_expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), doomed AS MATERIALIZED (
    SELECT e.owner, e.response_id, e.first_event, e.first_note FROM expired CROSS JOIN LATERAL (
      SELECT owner, response_id, first_event, first_note FROM antiphon.event_log
      WHERE owner = expired.owner AND response_id = expired.response_id OFFSET 0
    ) e LIMIT $3
  ), deleted AS (
    DELETE FROM antiphon.event_log e USING doomed WHERE e.owner = doomed.owner AND e.response_id = doomed.response_id
      AND e.first_event = doomed.first_event AND e.first_note = doomed.first_note
  ), emptied AS (
    UPDATE antiphon.background_runs b SET log_expires_at = '-infinity' FROM expired
    WHERE b.owner = expired.owner AND b.response_id = expired.response_id AND (SELECT count(*) FROM doomed) < $3
  )
  SELECT (SELECT count(*) FROM expired) = $2 OR (SELECT count(*) FROM doomed) = $3 AS has_more`,
);
