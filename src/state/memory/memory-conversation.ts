import type { Item } from '../../protocol/index.js';
import type { ConversationRecord } from '../conversation-store.js';
import { interleave } from '../given-items.js';
import type { ResponseRecord } from '../response-record.js';

/** An item of a conversation. */
export interface ConversationEntry {
  readonly item: Item;
  /** Whether it was given to the model between outputs: clients do not see it. */
  readonly isGiven: boolean;
  /** Its place, which it keeps when others are deleted. */
  readonly position: number;
}

/** A conversation in memory. Responses that were made in it keep it, also when it is deleted. */
export class MemoryConversation {
  entries: readonly ConversationEntry[] = [];
  version = 0;
  /** The place of the next item. */
  end = 0;

  constructor(public record: ConversationRecord) {}

  /** The items before a place, as a model sees them. */
  itemsBefore(position: number): readonly Item[] {
    return this.entries.filter((entry) => entry.position < position).map(({ item }) => item);
  }

  /** Appends the items of a turn or of a client; the version becomes another one. */
  append(items: readonly Pick<ConversationEntry, 'item' | 'isGiven'>[]): void {
    this.entries = [...this.entries, ...items.map((entry, index) => ({ ...entry, position: this.end + index }))];
    this.end += items.length;
    this.version += 1;
  }

  remove(itemId: string): void {
    this.entries = this.entries.filter(({ item }) => item.id !== itemId);
    this.version += 1;
  }
}

/** What a turn appends to its conversation. */
export function turnEntries({
  input,
  response,
  given,
}: Pick<ResponseRecord, 'input' | 'response' | 'given'>): readonly Pick<ConversationEntry, 'item' | 'isGiven'>[] {
  const seen = (item: Item): Pick<ConversationEntry, 'item' | 'isGiven'> => ({ item, isGiven: false });
  const between = given.map(({ after, items }) => ({ after, items: items.map((item) => ({ item, isGiven: true })) }));
  return [...input.map(seen), ...interleave(response.output.map(seen), between)];
}
