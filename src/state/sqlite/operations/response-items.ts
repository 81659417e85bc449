import type { DatabaseSync } from 'node:sqlite';

import { interleave } from '../../given-items.js';
import { toKey } from '../../keys.js';
import type { ItemText, OutputTexts } from '../new-response.js';
import type { TurnItem } from './append-turn.js';

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
