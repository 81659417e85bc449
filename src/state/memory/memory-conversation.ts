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

/** An item that is to be appended. */
export type NewEntry = Pick<ConversationEntry, 'item' | 'isGiven'>;

/**
 * A conversation in memory. Responses that were made in it keep it, also when it is deleted. Appending costs only the new
 * items, however many there are.
 */
export class MemoryConversation {
  private held: ConversationEntry[] = [];
  private readonly ids = new Set<string>();
  version = 0;
  /** The place of the next item. */
  end = 0;

  constructor(public record: ConversationRecord) {}

  /** The items before a place, as a model sees them. */
  itemsBefore(position: number): readonly Item[] {
    return this.held.filter((entry) => entry.position < position).map(({ item }) => item);
  }

  /** The items that clients see, oldest first. */
  get visibleItems(): readonly Item[] {
    return this.held.filter(({ isGiven }) => !isGiven).map(({ item }) => item);
  }

  /** Whether it has an item with this id. */
  has(itemId: string): boolean {
    return this.ids.has(itemId);
  }

  /** An item that clients see. */
  find(itemId: string): Item | undefined {
    if (!this.has(itemId)) return undefined;
    return this.held.find(({ item, isGiven }) => !isGiven && item.id === itemId)?.item;
  }

  /** Appends the items of a turn or of a client; the version becomes another one. */
  append(entries: readonly NewEntry[]): void {
    for (const { item, isGiven } of entries) {
      this.held.push({ item, isGiven, position: this.end });
      this.ids.add(item.id);
      this.end += 1;
    }
    this.version += 1;
  }

  remove(itemId: string): void {
    this.held = this.held.filter(({ item }) => item.id !== itemId);
    this.ids.delete(itemId);
    this.version += 1;
  }
}

/** Items that clients see, as new entries. */
export function seen(items: readonly Item[]): readonly NewEntry[] {
  return items.map((item) => ({ item, isGiven: false }));
}

/** What a turn appends to its conversation. */
export function turnEntries({
  input,
  response,
  given,
}: Pick<ResponseRecord, 'input' | 'response' | 'given'>): readonly NewEntry[] {
  const between = given.map(({ after, items }) => ({ after, items: items.map((item) => ({ item, isGiven: true })) }));
  return [...seen(input), ...interleave(seen(response.output), between)];
}
