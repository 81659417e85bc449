import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { keptInput } from '../conversation-store.js';
import { interleave } from '../given-items.js';
import type { ResponseRecord } from '../response-store.js';

/** An item that is about to be appended to a conversation: three arguments of a script. */
type Entry = readonly [kind: 'item' | 'given', id: string, text: string];

/** The items of a turn. `input` is what the turn was given, with the item that its conversation omits. */
export interface TurnItems extends Pick<ResponseRecord, 'response' | 'given' | 'conversation'> {
  readonly input: readonly Item[];
}

/** Whose conversation it is, and its id: nothing else says so, and an export finds it by this. */
export function conversationName(tenant: Tenant, id: string): string {
  return JSON.stringify([tenant, id]);
}

/** The id of an item as a conversation knows it: ids may hold what UTF-8 cannot, and are read back. */
export function toItemId(id: string): string {
  return JSON.stringify(id);
}

/** Items that clients see, as arguments of a script: their number, and three for each (scripts/conversations.ts, `entriesFrom`). */
export function toEntries(items: readonly Item[]): readonly (string | number)[] {
  return toArguments(items.map((item) => toEntry('item', item)));
}

/** What a turn appends to its conversation, as arguments of a script, in the form of `toEntries`. */
export function toTurnEntries(turn: TurnItems): readonly (string | number)[] {
  const output = turn.response.output.map((item) => toEntry('item', item));
  const between = turn.given.map(({ after, items }) => ({ after, items: items.map((item) => toEntry('given', item)) }));
  return toArguments([...keptInput(turn).map((item) => toEntry('item', item)), ...interleave(output, between)]);
}

/** What clients see of a turn in its conversation. */
export function shownItems(turn: TurnItems): readonly Item[] {
  return [...keptInput(turn), ...turn.response.output];
}

function toEntry(kind: Entry[0], item: Item): Entry {
  return [kind, toItemId(item.id), JSON.stringify(item)];
}

function toArguments(entries: readonly Entry[]): readonly (string | number)[] {
  return [entries.length, ...entries.flat()];
}
