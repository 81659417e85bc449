import { prepared } from '../../sql/statement.js';
import { insertUsage } from '../usage.js';

/** The role of an item in its response; `0009_items.sql` and `0015_given-items.sql` allow these. */
export type ItemKind = 'inherited' | 'input' | 'output' | 'given';

/** The values of SAVE, in order. */
export type SaveValues = readonly [
  tenant: string,
  id: string,
  parentId: string | null,
  sessionId: string,
  status: string,
  model: string,
  createdAt: Date,
  expiresAt: Date,
  labels: readonly string[] | null,
  origin: string | null,
  size: number,
  itemsSize: number,
  body: string,
  fence: number | null,
  itemKinds: readonly ItemKind[],
  itemKeys: readonly string[],
  itemBodies: readonly string[],
  lock: string,
  usage: string | null,
  sessionLimit: number | null,
  now: Date,
];

/** The values of SAVE_IN_CONVERSATION, in order. */
export type SaveInConversationValues = readonly [
  ...SaveValues,
  conversationId: string,
  version: number,
  omits: string | null,
];

/** The preconditions; the response is saved only if all hold. */
export interface SaveRow {
  readonly leased: boolean;
  readonly linked: boolean;
  /** Whether its session has room for it. */
  readonly has_room: boolean;
  /** Whether its conversation has the version that the turn has read. */
  readonly placed: boolean;
}

/** Whether the lease, if there is one, is the latest; and whether the parent, if there is one, is stored. */
const LEASED = `($14::bigint IS NULL OR EXISTS (SELECT FROM lease))`;
const LINKED = `($3::text IS NULL OR EXISTS (SELECT FROM parent))`;

/** Whether the session has room, if it has a limit. It is asked once: whoever stores a response there meanwhile is waited for. */
const HAS_ROOM = '(SELECT has_room FROM room)';

/** What a response of a conversation does besides; it has no parent. */
const IN_CONVERSATION = {
  /** The place of the response. A concurrent change of the conversation is waited for, and then the response is not placed. */
  place: `place AS (
    UPDATE antiphon.conversations c SET version = c.version + 1, end_position = c.end_position + cardinality($15::text[]),
      items_size = c.items_size + $12
    WHERE c.owner = $1 AND c.id = $22 AND c.version = $23 AND NOT c.is_deleted AND ${LEASED} AND ${HAS_ROOM}
    RETURNING c.id, c.end_position - cardinality($15::text[]) AS start
  ), `,
  /** The lock is released with it, which saves a round trip. */
  release: `, released AS (
    DELETE FROM antiphon.session_locks l USING place WHERE l.owner = $1 AND l.session_id = $18 AND l.fence = $14
  )`,
  columns: ', conversation_id, conversation_end',
  values: ', place.id, place.start FROM place',
  /** The items of the turn, of which the conversation keeps a copy. */
  append: `, appended AS (
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT saved.owner, place.id, place.start + item.position - 1, item.kind = 'given', item.item_key, item.body
    FROM saved, place, unnest($15::text[], $16::text[], $17::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
    WHERE item.kind <> 'input' OR item.item_key IS DISTINCT FROM $24
  )`,
  placed: 'EXISTS (SELECT FROM place)',
} as const;

const ALONE: Record<keyof typeof IN_CONVERSATION, string> = {
  place: '',
  columns: '',
  values: '',
  append: '',
  release: '',
  placed: 'true',
};

/**
 * Saves a response with its items in one round trip, if its parent is stored, its lease is the latest and its session has room; they
 * are locked until the end of the statement. Idempotent, so that it can be repeated when a connection breaks.
 */
export const SAVE = prepared<SaveValues, SaveRow>('save', toSave(ALONE));

/**
 * Saves a response and appends its input, its output and what it was given to its conversation, if that has the version
 * that the turn has read. Does nothing when repeated, and then says that it is not placed: IS_SAVED tells.
 */
export const SAVE_IN_CONVERSATION = prepared<SaveInConversationValues, SaveRow>(
  'save_in_conversation',
  toSave(IN_CONVERSATION),
);

/** Whether a response is stored in a conversation, visible or not. */
export const IS_SAVED = prepared<
  readonly [tenant: string, responseId: string, conversationId: string],
  { readonly is_saved: boolean }
>(
  'is_saved',
  `SELECT EXISTS (
    SELECT FROM antiphon.responses WHERE owner = $1 AND id = $2 AND conversation_id = $3
  ) AS is_saved`,
);

function toSave({
  place,
  columns,
  values,
  append,
  release,
  placed,
}: Record<keyof typeof IN_CONVERSATION, string>): string {
  return `WITH lease AS MATERIALIZED (
    SELECT FROM antiphon.session_locks WHERE owner = $1 AND session_id = $18 AND fence = $14 FOR SHARE
  ), parent AS MATERIALIZED (
    SELECT FROM antiphon.responses WHERE owner = $1 AND id = $3 FOR KEY SHARE
  ), room AS MATERIALIZED (
    SELECT $20::int IS NULL OR antiphon.has_session_room($1, $4, $2, $20::int, $21::timestamptz) AS has_room
  ), ${place}saved AS (
    INSERT INTO antiphon.responses
      (owner, id, parent_id, session_id, status, model, created_at, expires_at, labels, origin, size, items_size, body${columns})
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10, $11, $12, $13${values}
    WHERE ${LEASED} AND ${LINKED} AND ${HAS_ROOM}
    ON CONFLICT DO NOTHING
    RETURNING owner, id
  ), member AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT owner, $4, $7, id FROM saved
  ), items AS (
    INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
    SELECT saved.owner, saved.id, item.position, item.kind, item.item_key, item.body
    FROM saved, unnest($15::text[], $16::text[], $17::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
  ), used AS (
    ${insertUsage('$19', 'saved, ')}
  )${append}${release}
  SELECT ${LEASED} AS leased, ${LINKED} AS linked, ${HAS_ROOM} AS has_room, ${placed} AS placed`;
}
