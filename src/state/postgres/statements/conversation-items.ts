import { PAGE_BYTES, type PageRequest } from '../../page.js';
import { prepared, type Statement } from '../../sql/statement.js';
import { directionOf } from './page.js';

type Names = readonly [tenant: string, conversationId: string];

const VISIBLE_ITEMS = `FROM antiphon.conversation_items i WHERE i.owner = $1 AND i.conversation_id = $2 AND NOT i.is_given`;

/** The beginnings of the list in both orders. */
const EDGES = { ASC: '-1', DESC: '9223372036854775807' } as const;

/** An item of the page; an empty page is one row without an item. No row: the conversation is not found. */
export interface ConversationItemRow {
  /** Whether the list has the cursor, or had it until it was deleted. */
  readonly found: boolean;
  readonly position: string | null;
  /** Null when the page is full. */
  readonly body: string | null;
}

/** A page of a conversation's items plus one, in order from the cursor. */
export function conversationItems(
  request: Pick<PageRequest, 'order' | 'before'>,
): Statement<readonly [...Names, cursor: string | null, limit: number, now: Date], ConversationItemRow> {
  const [comparison, direction] = directionOf(request);
  return prepared(
    `conversation_items_${direction.toLowerCase()}`,
    `WITH cursor AS MATERIALIZED (
      SELECT coalesce(
        (SELECT i.position ${VISIBLE_ITEMS} AND i.item_key = $3 ORDER BY i.position DESC LIMIT 1),
        (SELECT b.position FROM antiphon.item_bookmarks b
          WHERE b.owner = $1 AND b.conversation_id = $2 AND b.item_key = $3 AND b.expires_at > $5)
      ) AS position
    ), page AS (
      SELECT i.position, i.body ${VISIBLE_ITEMS}
        AND i.position ${comparison} coalesce((SELECT position FROM cursor), ${EDGES[direction]})
      ORDER BY i.position ${direction} LIMIT $4
    ), weighed AS (
      SELECT position, body, sum(octet_length(body)) OVER (ORDER BY position ${direction}) AS total,
        row_number() OVER (ORDER BY position ${direction}) AS place
      FROM page
    )
    SELECT $3::text IS NULL OR EXISTS (SELECT FROM cursor WHERE position IS NOT NULL) AS found, weighed.position,
      CASE WHEN place = 1 OR total <= ${PAGE_BYTES} THEN weighed.body END AS body
    FROM antiphon.conversations c LEFT JOIN weighed ON true
    WHERE c.owner = $1 AND c.id = $2 AND NOT c.is_deleted
    ORDER BY weighed.position ${direction}`,
  );
}

/** An item; without a body when it is not there. */
export const CONVERSATION_ITEM = prepared<readonly [...Names, itemKey: string], { readonly body: string | null }>(
  'conversation_item',
  `SELECT (SELECT i.body ${VISIBLE_ITEMS} AND i.item_key = $3 ORDER BY i.position DESC LIMIT 1) AS body
  FROM antiphon.conversations c WHERE c.owner = $1 AND c.id = $2 AND NOT c.is_deleted`,
);
