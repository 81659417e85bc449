import type { DatabaseSync } from 'node:sqlite';

/** Items that are about to enter a conversation, as columns. */
export interface NewEntries {
  readonly keys: readonly string[];
  readonly bodies: readonly string[];
  /** Bytes of the bodies together. */
  readonly size: number;
  /** Whether each one is hidden from clients; none is without it. */
  readonly isGiven?: readonly boolean[];
}

/** Where a turn stands in its conversation; or why it does not. */
export type Placing =
  { readonly conversation: number; readonly start: number } | { readonly refused: 'deleted' | 'changed' };

interface Row {
  readonly conversation: number;
  readonly version: number;
  readonly end_position: number;
}

/** Appends to conversations, for clients and for turns. */
export function entryOperations(database: DatabaseSync) {
  const find = database.prepare(
    'SELECT conversation, version, end_position FROM conversations WHERE owner = ? AND id = ? AND is_deleted = 0',
  );
  const grow = database.prepare(
    `UPDATE conversations SET version = version + 1, end_position = end_position + ?, items_size = items_size + ?
    WHERE conversation = ?`,
  );
  const insert = database.prepare(
    'INSERT INTO conversation_items (conversation, position, is_given, owner, key, body) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insertEntries = (owner: number, conversation: number, start: number, entries: NewEntries): void => {
    const { keys, bodies, isGiven } = entries;
    keys.forEach((key, index) => {
      insert.run(conversation, start + index, isGiven?.[index] === true ? 1 : 0, owner, key, bodies[index] ?? '');
    });
  };
  return {
    insertEntries,
    /** Appends to a conversation, which has another version then. */
    appendEntries: (
      owner: number,
      { conversation, end_position: start }: Pick<Row, 'conversation' | 'end_position'>,
      entries: NewEntries,
    ): void => {
      grow.run(entries.keys.length, entries.size, conversation);
      insertEntries(owner, conversation, start, entries);
    },
    /** A conversation that is as a turn has read it. */
    findPlace: (owner: number, id: string, version: number): Placing => {
      const row = find.get(owner, id) as unknown as Row | undefined;
      if (row === undefined) return { refused: 'deleted' };
      if (row.version !== version) return { refused: 'changed' };
      return { conversation: row.conversation, start: row.end_position };
    },
  };
}

/** What changes conversations together with other rows. */
export type EntryOperations = ReturnType<typeof entryOperations>;
