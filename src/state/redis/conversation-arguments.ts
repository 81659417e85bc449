import type { Item } from '../../protocol/index.js';
import { interleave } from '../given-items.js';
import type { ResponseRecord } from '../response-record.js';

/** An item that is about to be appended to a conversation: the arguments of a script. */
type Entry = readonly [kind: 'item' | 'given', id: string, text: string];

/** The id of an item as a conversation knows it: ids can hold what a key cannot, and are read back. */
export function toItemId(id: string): string {
  return JSON.stringify(id);
}

/** Items that clients see, as arguments of a script: their number, and three of each (scripts/conversations.ts, `entriesFrom`). */
export function toEntries(items: readonly Item[]): readonly (string | number)[] {
  return toArguments(items.map((item) => toEntry(item, 'item')));
}

/** The same for what a turn appends to its conversation. */
export function toTurnEntries(
  input: readonly Item[],
  { response, given, conversation }: Pick<ResponseRecord, 'response' | 'given' | 'conversation'>,
): readonly (string | number)[] {
  const omitted = conversation?.omits;
  const kept = omitted === undefined ? input : input.filter(({ id }) => id !== omitted);
  const between = given.map(({ after, items }) => ({ after, items: items.map((item) => toEntry(item, 'given')) }));
  const output = response.output.map((item) => toEntry(item, 'item'));
  return toArguments([...kept.map((item) => toEntry(item, 'item')), ...interleave(output, between)]);
}

function toEntry(item: Item, kind: Entry[0]): Entry {
  return [kind, toItemId(item.id), JSON.stringify(item)];
}

function toArguments(entries: readonly Entry[]): readonly (string | number)[] {
  return [entries.length, ...entries.flat()];
}
