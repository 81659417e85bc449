/** A response of a path, or what the conversation of the first one had before it. */
export interface PathRow {
  /** 0: the response that was asked for; those before it have greater ones. */
  readonly level: number;
  readonly inherited: string | null;
  readonly input: string | null;
  /** What follows the input in the transcript. */
  readonly after: string | null;
  /** Bytes of all items of the path; beyond the limit rows are without texts. */
  readonly bytes: number;
  readonly conversation: number | null;
}

/** What the conversation of a response had before it. */
const EARLIER = `path CROSS JOIN conversation_items c
    ON c.conversation = path.conversation AND c.position < path.conversation_end`;

/**
 * A statement for a response with all before it, and what its conversation had before, as `PathRow` in no order; `?5` is
 * the limit of bytes. `condition`: which response `r`; `columns`: more to read of it. CROSS JOIN keeps the order of the tables:
 * each step is one look-up.
 */
export function pathStatement(condition: string, columns: readonly (readonly [name: string, value: string])[]): string {
  const more = columns.map(([name, value]) => `, CASE WHEN path.level = 0 THEN ${value} END AS ${name}`).join('');
  const limited = (column: string): string => `CASE WHEN weight.bytes <= ?5 THEN ${column} END`;
  return `WITH RECURSIVE path (level, response, parent, items_size, conversation, conversation_end) AS MATERIALIZED (
    SELECT 0, r.response, r.parent, r.items_size, r.conversation, r.conversation_end FROM responses r WHERE ${condition}
    UNION ALL
    SELECT path.level + 1, r.response, r.parent, r.items_size, r.conversation, r.conversation_end
    FROM path CROSS JOIN responses r ON r.response = path.parent
  ), weight (bytes) AS MATERIALIZED (
    SELECT sum(items_size) + coalesce((SELECT sum(octet_length(c.body)) FROM ${EARLIER}), 0) FROM path
  )
  SELECT path.level, ${limited('r.inherited')} AS inherited, ${limited('r.input')} AS input,
    ${limited('coalesce(r.output_with_given, r.output)')} AS after, weight.bytes, r.conversation${more}
  FROM weight CROSS JOIN path CROSS JOIN responses r ON r.response = path.response
  UNION ALL
  SELECT path.level + 1, NULL, NULL, group_concat(c.body, ',' ORDER BY c.position), weight.bytes,
    path.conversation${', NULL'.repeat(columns.length)}
  FROM weight CROSS JOIN ${EARLIER} WHERE weight.bytes <= ?5 GROUP BY path.level`;
}

/** The texts of a path as one, in the order of the transcript; null without any. */
export function joinPath(rows: readonly PathRow[]): string | null {
  const texts = rows
    .toSorted((one, other) => other.level - one.level)
    .flatMap(({ inherited, input, after }) => [inherited, input, after])
    .filter((text) => text !== null);
  return texts.length === 0 ? null : texts.join(',');
}
