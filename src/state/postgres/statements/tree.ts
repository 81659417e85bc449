import { PAGE_BYTES } from '../../page.js';
import { GRAPH_MAX_RESPONSES } from '../../response-graph.js';
import { adHoc } from '../statement.js';
import type { ResponseTexts } from '../../response-texts.js';
import { OUTPUT_OF_RESPONSE, type Viewer, VISIBLE } from './visible.js';

/** A response of the tree; rows are ordered from the root. */
export interface TreeRow extends ResponseTexts {
  readonly id: string;
  /** Null at the root. */
  readonly parent_id: string | null;
  /** The number of visible children, counted up to one more than the limit of the tree. */
  readonly children: number;
  readonly too_large: boolean;
}

/** Up to the earliest visible ancestor, and from there down, level by level; the limit stops the recursion. */
export const TREE = adHoc<readonly [...Viewer, responseId: string, depth: number, limit: number], TreeRow>(
  `WITH RECURSIVE up AS (
    SELECT r.id, r.parent_id, 1 AS climbed FROM antiphon.responses r WHERE ${VISIBLE} AND r.id = $4
    UNION ALL
    SELECT parent.id, parent.parent_id, up.climbed + 1 FROM up CROSS JOIN LATERAL (
      SELECT r.id, r.parent_id FROM antiphon.responses r WHERE r.id = up.parent_id AND ${VISIBLE} OFFSET 0
    ) parent
    WHERE up.climbed <= ${GRAPH_MAX_RESPONSES}
  ), root AS MATERIALIZED (
    SELECT id, climbed FROM up ORDER BY climbed DESC LIMIT 1
  ), down AS (
    SELECT r.id, NULL::text COLLATE "C" AS parent_id, 0 AS level, r.size
    FROM root JOIN antiphon.responses r ON r.owner = $1 AND r.id = root.id
    UNION ALL
    SELECT child.id, child.parent_id, down.level + 1, child.size FROM down CROSS JOIN LATERAL (
      SELECT r.id, r.parent_id, r.size FROM antiphon.responses r WHERE r.parent_id = down.id AND ${VISIBLE}
      ORDER BY r.created_at, r.id LIMIT $6
    ) child
    WHERE down.level < $5
  ), nearest AS MATERIALIZED (
    SELECT id, parent_id, size, row_number() OVER () AS place FROM (SELECT * FROM down LIMIT $6) walked
  ), shown AS (
    SELECT id, parent_id, place, sum(size) OVER (ORDER BY place) AS total FROM nearest
  )
  SELECT shown.id, shown.parent_id, r.body, r.status, ${OUTPUT_OF_RESPONSE} AS output,
    (SELECT climbed FROM root) > ${GRAPH_MAX_RESPONSES} AS too_large,
    (SELECT count(*) FROM (
      SELECT FROM antiphon.responses r WHERE r.parent_id = shown.id AND ${VISIBLE} LIMIT $6 + 1
    ) counted)::integer AS children
  FROM shown JOIN antiphon.responses r ON r.owner = $1 AND r.id = shown.id
  WHERE shown.place = 1 OR shown.total <= ${PAGE_BYTES}
  ORDER BY shown.place`,
);
