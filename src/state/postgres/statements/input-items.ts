import type { PageRequest } from '../../page.js';
import { prepared, type Statement } from '../statement.js';
import { directionOf } from './direction.js';
import { type Viewer, VISIBLE } from './visible.js';

type Values = readonly [...Viewer, responseId: string, cursor: string | null, limit: number];

/** An item of the page; an empty page is one row without an item. */
export interface InputItemRow {
  readonly known: boolean;
  readonly found: boolean;
  readonly body: string | null;
}

/** A page of a response's input plus one item, in order from the cursor. */
export function inputItems(request: Pick<PageRequest, 'order' | 'before'>): Statement<Values, InputItemRow> {
  const [comparison, direction] = directionOf(request);
  return prepared(
    `input_items_${direction.toLowerCase()}`,
    `WITH response AS (
      SELECT r.id FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    ), input AS (
      SELECT i.position, i.item_key, i.body FROM response JOIN antiphon.items i ON i.owner = $1 AND i.response_id = response.id
      WHERE i.kind = 'input'
    ), cursor AS (
      SELECT position FROM input WHERE item_key = $5 LIMIT 1
    ), page AS (
      SELECT position, body FROM input
      WHERE $5::text IS NULL OR position ${comparison} (SELECT position FROM cursor)
      ORDER BY position ${direction} LIMIT $6
    )
    SELECT EXISTS (SELECT FROM response) AS known, $5::text IS NULL OR EXISTS (SELECT FROM cursor) AS found, page.body
    FROM (SELECT) once LEFT JOIN page ON true ORDER BY page.position ${direction}`,
  );
}
