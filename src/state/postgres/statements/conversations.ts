import { adHoc, prepared } from '../../sql/statement.js';
import { BOOKMARK_TIME } from './bookmarks.js';
import { isLocked, leaseEnd, take } from '../locks.js';

type Names = readonly [tenant: string, conversationId: string];

/** The condition for conversation `c` to be found. */
const FOUND = `c.owner = $1 AND c.id = $2 AND NOT c.is_deleted`;

/** The items of the conversation as comma-separated JSON texts. */
const ITEMS = `(SELECT string_agg(body, ',' ORDER BY position) FROM antiphon.conversation_items
    WHERE owner = $1 AND conversation_id = $2)`;

/** Stores a conversation, once. */
export const CREATE_CONVERSATION = prepared<
  readonly [
    ...Names,
    createdAt: Date,
    metadata: string,
    itemKeys: readonly string[],
    itemBodies: readonly string[],
    size: number,
  ],
  never
>(
  'create_conversation',
  `WITH created AS (
    INSERT INTO antiphon.conversations (owner, id, created_at, metadata, version, end_position, items_size)
    VALUES ($1, $2, $3, $4, 1, cardinality($5::text[]), $7) ON CONFLICT DO NOTHING RETURNING owner, id
  )
  INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
  SELECT owner, id, item.position - 1, false, item_key, body
  FROM created, unnest($5::text[], $6::text[]) WITH ORDINALITY AS item (item_key, body, position)`,
);

/** A conversation without its items. */
export interface ConversationRow {
  readonly created_at: Date;
  readonly metadata: string;
}

export const GET_CONVERSATION = prepared<Names, ConversationRow>(
  'get_conversation',
  `SELECT c.created_at, c.metadata FROM antiphon.conversations c WHERE ${FOUND}`,
);

export const UPDATE_CONVERSATION = prepared<readonly [...Names, metadata: string], ConversationRow>(
  'update_conversation',
  `UPDATE antiphon.conversations c SET metadata = $3 WHERE ${FOUND} RETURNING c.created_at, c.metadata`,
);

/** Hides a conversation; nothing is appended to it any more. */
export const DELETE_CONVERSATION = prepared<Names, { readonly deleted: true }>(
  'delete_conversation',
  `UPDATE antiphon.conversations c SET is_deleted = true WHERE ${FOUND} RETURNING true AS deleted`,
);

/** The items of a conversation. */
export interface ReadRow {
  readonly version: string;
  readonly too_large: boolean;
  /** Null when there are none, when they are too large, or when they are known. */
  readonly items: string | null;
}

export const READ_CONVERSATION = prepared<readonly [...Names, maxBytes: number], ReadRow>(
  'read_conversation',
  `SELECT c.version, c.items_size > $3 AS too_large, CASE WHEN c.items_size <= $3 THEN ${ITEMS} END AS items
  FROM antiphon.conversations c WHERE ${FOUND}`,
);

/** A conversation that is locked. */
export interface OpenedRow extends ReadRow {
  /** Null when it was not locked. */
  readonly fence: string | null;
  /** The version now; null when it was not locked, or is gone. If it is another one, the items are read anew. */
  readonly latest: string | null;
}

/**
 * Takes the lock of a conversation and reads its items. What others wrote while the statement waited for the lock is not
 * among them: a statement sees what there was when it began. `latest`, of the row that is locked, tells. Every fence is
 * above 0: the condition has its part of the statement wait for the lock.
 */
export const OPEN_CONVERSATION = prepared<
  readonly [...Names, lock: string, ttlMs: number, knownVersion: number | null, maxBytes: number],
  OpenedRow
>(
  'open_conversation',
  `WITH conversation AS MATERIALIZED (
    SELECT c.version, c.version IS DISTINCT FROM $5::bigint AS is_new, c.items_size > $6 AS is_large
    FROM antiphon.conversations c WHERE ${FOUND}
  ), held AS (
    ${take('$3', leaseEnd('$4'), 'FROM conversation WHERE NOT (is_new AND is_large) AND')}
  ), latest AS MATERIALIZED (
    SELECT l.version FROM held CROSS JOIN LATERAL (
      SELECT c.version FROM antiphon.conversations c WHERE ${FOUND} AND held.fence > 0 FOR SHARE
    ) l
  )
  SELECT r.version, r.is_new AND r.is_large AS too_large, held.fence, latest.version AS latest,
    CASE WHEN r.is_new AND held.fence > 0 THEN ${ITEMS} END AS items
  FROM conversation r LEFT JOIN held ON true LEFT JOIN latest ON true`,
);

/** What became of a change; no row when the conversation is not found. */
export interface ChangedRow {
  readonly is_locked: boolean;
  /** Whether the lock was free. */
  readonly is_held: boolean;
  /** False when the conversation was changed since the statement began: it may be repeated. */
  readonly is_changed: boolean;
}

/** What became of an addition. */
export interface AppendedRow extends ChangedRow {
  /** The key of a new item that is there already. */
  readonly duplicate: string | null;
}

/**
 * Adds items. Takes the lock for as long as the statement lasts, so that turns and other additions wait, and a turn that
 * has lost its lock notices.
 */
export const APPEND_ITEMS = prepared<
  readonly [...Names, lock: string, itemKeys: readonly string[], itemBodies: readonly string[], size: number],
  AppendedRow
>(
  'append_items',
  `WITH conversation AS MATERIALIZED (
    SELECT c.version, ${isLocked('$3')} AS is_locked FROM antiphon.conversations c WHERE ${FOUND}
  ), duplicate AS MATERIALIZED (
    SELECT item.item_key FROM conversation, unnest($4::text[]) WITH ORDINALITY AS item (item_key, position)
    WHERE item.item_key IN (
      SELECT i.item_key FROM antiphon.conversation_items i
      WHERE i.owner = $1 AND i.item_key = item.item_key AND i.conversation_id = $2)
    ORDER BY item.position LIMIT 1
  ), held AS (
    ${take('$3', `'-infinity'`, 'FROM conversation WHERE NOT EXISTS (SELECT FROM duplicate) AND')}
  ), changed AS (
    UPDATE antiphon.conversations c
    SET version = c.version + 1, end_position = c.end_position + cardinality($4::text[]), items_size = c.items_size + $6
    FROM conversation, held WHERE ${FOUND} AND c.version = conversation.version
    RETURNING c.owner, c.id, c.end_position - cardinality($4::text[]) AS start
  ), added AS (
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT owner, id, start + item.position - 1, false, item_key, body
    FROM changed, unnest($4::text[], $5::text[]) WITH ORDINALITY AS item (item_key, body, position)
  )
  SELECT is_locked, (SELECT item_key FROM duplicate) AS duplicate, EXISTS (SELECT FROM held) AS is_held,
    EXISTS (SELECT FROM changed) AS is_changed
  FROM conversation`,
);

/** What became of a deletion of an item. */
export interface DeletedItemRow extends ChangedRow, ConversationRow {
  readonly is_there: boolean;
}

/** Deletes an item that clients see, and remembers where it was; takes the lock as APPEND_ITEMS does. */
export const DELETE_ITEM = prepared<readonly [...Names, lock: string, itemKey: string, now: Date], DeletedItemRow>(
  'delete_item',
  `WITH conversation AS MATERIALIZED (
    SELECT c.version, c.created_at, c.metadata, ${isLocked('$3')} AS is_locked
    FROM antiphon.conversations c WHERE ${FOUND}
  ), doomed AS MATERIALIZED (
    SELECT i.position, octet_length(i.body) AS size FROM antiphon.conversation_items i
    WHERE i.owner = $1 AND i.item_key = $4 AND i.conversation_id = $2 AND NOT i.is_given
  ), held AS (
    ${take('$3', `'-infinity'`, 'FROM conversation WHERE EXISTS (SELECT FROM doomed) AND')}
  ), changed AS (
    UPDATE antiphon.conversations c
    SET version = c.version + 1, items_size = c.items_size - (SELECT sum(size) FROM doomed)
    FROM conversation, held WHERE ${FOUND} AND c.version = conversation.version
    RETURNING c.owner, c.id
  ), remembered AS (
    INSERT INTO antiphon.item_bookmarks (owner, conversation_id, item_key, position, expires_at)
    SELECT owner, id, $4, (SELECT max(position) FROM doomed), $5::timestamptz + ${BOOKMARK_TIME} FROM changed
    ON CONFLICT (owner, conversation_id, item_key)
      DO UPDATE SET position = EXCLUDED.position, expires_at = EXCLUDED.expires_at
  ), gone AS (
    DELETE FROM antiphon.conversation_items i USING changed, doomed
    WHERE i.owner = changed.owner AND i.conversation_id = changed.id AND i.position = doomed.position
  )
  SELECT created_at, metadata, is_locked, EXISTS (SELECT FROM doomed) AS is_there, EXISTS (SELECT FROM held) AS is_held,
    EXISTS (SELECT FROM changed) AS is_changed
  FROM conversation`,
);

/** How far FORGET_CONVERSATION or FORGET_CONVERSATIONS got. */
export interface ForgottenRow {
  /** The last conversation that was looked at; null without one. */
  readonly owner: string | null;
  readonly id: string | null;
  readonly seen: number;
  /** How many of those looked at no response needs. */
  readonly unneeded: number;
  /** Whether some of them still have items, and are there. */
  readonly has_more_items: boolean;
}

/** Frees a deleted conversation, with its items up to a number, if no response needs it. */
export const FORGET_CONVERSATION = adHoc<readonly [...Names, items: number], ForgottenRow>(
  toForget('SELECT $1::text AS owner, $2::text AS id'),
);

/** Frees what FORGET_CONVERSATION does, of the next deleted conversations after a position, so many. */
export const FORGET_CONVERSATIONS = adHoc<
  readonly [owner: string, id: string, items: number, conversations: number],
  ForgottenRow
>(
  toForget(
    `SELECT c.owner, c.id FROM antiphon.conversations c
    WHERE c.is_deleted AND (c.owner, c.id) > ($1, $2) ORDER BY c.owner, c.id LIMIT $4`,
  ),
);

/** Frees up to `$3` items. What a turn appended before the deletion is seen: both change the row of the conversation. */
function toForget(names: string): string {
  return `WITH named AS MATERIALIZED (
    ${names}
  ), unneeded AS MATERIALIZED (
    SELECT c.owner, c.id FROM named JOIN antiphon.conversations c ON c.owner = named.owner AND c.id = named.id
    WHERE c.is_deleted AND NOT EXISTS (
      SELECT FROM antiphon.responses r WHERE r.owner = c.owner AND r.conversation_id = c.id)
    FOR UPDATE OF c SKIP LOCKED
  ), doomed AS MATERIALIZED (
    SELECT i.owner, i.conversation_id, i.position FROM unneeded CROSS JOIN LATERAL (
      SELECT owner, conversation_id, position FROM antiphon.conversation_items
      WHERE owner = unneeded.owner AND conversation_id = unneeded.id OFFSET 0
    ) i LIMIT $3
  ), emptied AS (
    DELETE FROM antiphon.conversation_items i USING doomed
    WHERE i.owner = doomed.owner AND i.conversation_id = doomed.conversation_id AND i.position = doomed.position
  ), freed AS (
    DELETE FROM antiphon.conversations c USING unneeded
    WHERE c.owner = unneeded.owner AND c.id = unneeded.id AND (SELECT count(*) FROM doomed) < $3
  ), last AS (
    SELECT owner, id FROM named ORDER BY owner DESC, id DESC LIMIT 1
  )
  SELECT last.owner, last.id, (SELECT count(*) FROM named)::integer AS seen,
    (SELECT count(*) FROM unneeded)::integer AS unneeded, (SELECT count(*) FROM doomed) = $3 AS has_more_items
  FROM (SELECT) one LEFT JOIN last ON true`;
}
