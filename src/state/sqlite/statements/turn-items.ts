import type { DatabaseSync } from 'node:sqlite';

import { ConversationChangedError } from '../../errors.js';
import { interleave } from '../../given-items.js';
import { toKey } from '../../keys.js';
import type { ItemText, OutputTexts, PlaceText } from '../new-response.js';

/** An item that a turn appends to its conversation. */
export interface TurnItem extends ItemText {
  readonly kind: 'input' | 'output' | 'given';
}

/** Where a turn stands in its conversation. */
export interface TurnPlace {
  readonly conversation: number;
  /** The place of its first item. */
  readonly start: number;
}

/** The items of a response after its input, in the order of the transcript. */
export function turnOutput({ output, given }: OutputTexts): readonly TurnItem[] {
  const between = given.map(({ after, items }) => ({ after, items: items.map((item) => turnItem('given', item)) }));
  return interleave(
    output.map((item) => turnItem('output', item)),
    between,
  );
}

/** The input of a response in its transcript. */
export function turnInput(input: readonly ItemText[]): readonly TurnItem[] {
  return input.map((item) => turnItem('input', item));
}

function turnItem(kind: TurnItem['kind'], { id, text }: ItemText): TurnItem {
  return { id, text, kind };
}

/** Items as a column: their texts, comma-separated; null without any. */
export function toColumn(items: readonly Pick<ItemText, 'text'>[]): string | null {
  return items.length === 0 ? null : items.map(({ text }) => text).join(',');
}

/** The bytes of items together. */
export function bytesOf(items: readonly Pick<ItemText, 'text'>[]): number {
  return items.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0);
}

/** Enters items of a response where they are looked up by id; of those with the same id the first counts. */
export function itemEntering(database: DatabaseSync) {
  const insert = database.prepare(
    'INSERT OR IGNORE INTO item_places (owner, key, response, is_output, place) VALUES (?, ?, ?, ?, ?)',
  );
  return (owner: number, response: number, column: 'input' | 'output', items: readonly ItemText[]): void => {
    items.forEach(({ id }, place) => insert.run(owner, toKey(id), response, column === 'output' ? 1 : 0, place));
  };
}

/** Appends turns to their conversations. */
export function turnAppending(database: DatabaseSync) {
  const advance = database.prepare(
    `UPDATE conversations SET version = version + 1, end_position = end_position + ?4, items_size = items_size + ?5
    WHERE owner = ?1 AND id = ?2 AND version = ?3 AND is_deleted = 0
    RETURNING conversation, end_position - ?4 AS start`,
  );
  const find = database.prepare('SELECT 1 FROM conversations WHERE owner = ? AND id = ? AND is_deleted = 0');
  const insert = database.prepare(
    'INSERT INTO conversation_items (conversation, position, is_given, owner, key, body) VALUES (?, ?, ?, ?, ?, ?)',
  );
  /** Appends the items of a turn; `size`: their bytes. Throws ConversationChangedError unless its conversation has the version that it has read. */
  return (owner: number, { id, version, omits }: PlaceText, items: readonly TurnItem[], size: number): TurnPlace => {
    const key = toKey(id);
    const place = advance.get(owner, key, version, items.length, size) as unknown as TurnPlace | undefined;
    if (place === undefined) throw new ConversationChangedError(id, find.get(owner, key) === undefined);
    items.forEach((item, index) => {
      if (item.kind === 'input' && item.id === omits) return;
      const isGiven = item.kind === 'given' ? 1 : 0;
      insert.run(place.conversation, place.start + index, isGiven, owner, toKey(item.id), item.text);
    });
    return place;
  };
}
