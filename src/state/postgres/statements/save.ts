import { prepared } from '../statement.js';

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
];

/** The preconditions; the response is saved only if both hold. */
export interface SaveRow {
  readonly leased: boolean;
  readonly linked: boolean;
}

/**
 * Saves a response with its items in one round trip, if its parent is stored and its lease is the latest; both are
 * locked until the end of the statement. Idempotent, so that it can be repeated when a connection breaks.
 */
export const SAVE = prepared<SaveValues, SaveRow>(
  'save',
  `WITH lease AS MATERIALIZED (
    SELECT FROM antiphon.session_locks WHERE owner = $1 AND session_id = $4 AND fence = $14 FOR SHARE
  ), parent AS MATERIALIZED (
    SELECT FROM antiphon.responses WHERE owner = $1 AND id = $3 FOR KEY SHARE
  ), saved AS (
    INSERT INTO antiphon.responses
      (owner, id, parent_id, session_id, status, model, created_at, expires_at, labels, origin, size, items_size, body)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10, $11, $12, $13
    WHERE ($14::bigint IS NULL OR EXISTS (SELECT FROM lease)) AND ($3::text IS NULL OR EXISTS (SELECT FROM parent))
    ON CONFLICT DO NOTHING
    RETURNING owner, id
  ), member AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT owner, $4, $7, id FROM saved
  ), items AS (
    INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
    SELECT saved.owner, saved.id, item.position, item.kind, item.item_key, item.body
    FROM saved, unnest($15::text[], $16::text[], $17::text[]) WITH ORDINALITY AS item (kind, item_key, body, position)
  )
  SELECT $14::bigint IS NULL OR EXISTS (SELECT FROM lease) AS leased,
    $3::text IS NULL OR EXISTS (SELECT FROM parent) AS linked`,
);
