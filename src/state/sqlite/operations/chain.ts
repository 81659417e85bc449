/**
 * The path from a response to the first one before it, as table `path`, with the bytes of its items in table `weight`.
 * `start`: the condition for response `r` to begin it.
 */
export function pathFrom(start: string): string {
  return `path (level, response, parent, items_size, conversation, conversation_end) AS MATERIALIZED (
    SELECT 0, r.response, r.parent, r.items_size, r.conversation, r.conversation_end FROM responses r WHERE ${start}
    UNION ALL
    SELECT path.level + 1, r.response, r.parent, r.items_size, r.conversation, r.conversation_end
    FROM path JOIN responses r ON r.response = path.parent
  ), weight (bytes) AS MATERIALIZED (
    SELECT sum(items_size) + coalesce((
      SELECT sum(octet_length(c.body)) FROM path p JOIN conversation_items c
      ON c.conversation = p.conversation AND c.position < p.conversation_end
    ), 0) FROM path
  )`;
}

/** The rest of a statement with `pathFrom`: what the conversation of the first response had before, as rows of `columns`. */
export function earlierItems(columns: string): string {
  return `SELECT ${columns} FROM path JOIN conversation_items c
    ON c.conversation = path.conversation AND c.position < path.conversation_end`;
}
