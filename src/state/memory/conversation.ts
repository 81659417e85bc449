import type { Tenant } from '../../access/index.js';
import { estimateBytes, type Item } from '../../protocol/index.js';
import { type ConversationRecord, keptInput } from '../conversation-store.js';
import { interleave } from '../given-items.js';
import { isForward, type Page, type PageRequest, toPage } from '../page.js';
import type { ResponseRecord } from '../response-store.js';
import type { MovedEntry } from '../state-transfer.js';
import type { Sortable } from './sorted-list.js';

/** Estimated bytes of an entry beyond its item: its places in the indexes. */
const ENTRY_BYTES = 200;

/** An item of a conversation. */
export interface ConversationEntry {
  readonly item: Item;
  /** Whether it was given to the model between outputs: clients do not see it. */
  readonly isGiven: boolean;
  /** The place of the item, which it keeps when others are deleted. */
  readonly position: number;
  /** Estimated. */
  readonly bytes: number;
}

/** An item that is about to be appended. */
export type NewEntry = Omit<ConversationEntry, 'position'>;

/** A conversation in memory. Responses that were made in it keep it, also when it is deleted. */
export class MemoryConversation implements Sortable {
  readonly id: string;
  readonly createdAt: number;
  /** Estimated bytes, its items included. */
  bytes: number;
  version = 0;
  /** The place of the next item. */
  end = 0;
  /** False once deleted or evicted: it is only stored for the responses that were made in it. */
  alive = true;
  /** How many of these are stored. */
  responses = 0;
  /** By position. */
  private readonly entries: ConversationEntry[] = [];
  private readonly ids = new Set<string>();
  /** The latest entries that clients see, by the id of their item. */
  private readonly shown = new Map<string, ConversationEntry>();

  constructor(
    readonly tenant: Tenant,
    private about: ConversationRecord,
  ) {
    this.id = about.id;
    this.createdAt = about.createdAt;
    this.bytes = ENTRY_BYTES + estimateBytes(about);
  }

  get record(): ConversationRecord {
    return this.about;
  }

  /** Replaces the record. */
  update(record: ConversationRecord): void {
    this.bytes += estimateBytes(record) - estimateBytes(this.about);
    this.about = record;
  }

  /** Whether an item has this id, also one that clients do not see. */
  has(itemId: string): boolean {
    return this.ids.has(itemId);
  }

  /** An item that clients see. */
  find(itemId: string): Item | undefined {
    return this.shown.get(itemId)?.item;
  }

  /** Where an item that clients see stands; of several with one id, the latest. */
  positionOf(itemId: string): number | undefined {
    return this.shown.get(itemId)?.position;
  }

  /** The ids of the items that clients see. */
  get itemIds(): Iterable<string> {
    return this.shown.keys();
  }

  /** All entries in order. */
  get all(): readonly ConversationEntry[] {
    return this.entries;
  }

  /** The items before a place, as a model sees them. */
  itemsBefore(position: number): readonly Item[] {
    return this.entries.slice(0, this.indexOf(position)).map(({ item }) => item);
  }

  /** Appends the items of a turn or of a client; the version becomes another one. */
  append(entries: readonly NewEntry[]): void {
    for (const entry of entries) {
      this.put({ ...entry, position: this.end });
      this.end += 1;
    }
    this.bytes += bytesOf(entries);
    this.version += 1;
  }

  /** Puts entries at their places, in order; returns those that were not there yet. */
  restore(entries: readonly MovedEntry[]): readonly NewEntry[] {
    const last = this.entries.at(-1)?.position ?? -1;
    const added = entries
      .filter(({ position }) => position > last)
      .map(({ item, isGiven, position }) => ({ ...toEntry(item, isGiven), position }));
    for (const entry of added) this.put(entry);
    this.bytes += bytesOf(added);
    return added;
  }

  /** Removes an item that clients see; the version becomes another one. */
  remove(itemId: string): void {
    const named = this.entries.filter(({ item }) => item.id === itemId);
    const gone = named.filter(({ isGiven }) => !isGiven);
    for (const { position } of gone) this.entries.splice(this.indexOf(position), 1);
    this.bytes -= bytesOf(gone);
    this.shown.delete(itemId);
    if (gone.length === named.length) this.ids.delete(itemId);
    this.version += 1;
  }

  /** A page of the items that clients see, from the position of its cursor on; it costs only its entries. */
  page(request: PageRequest, cursor: number | undefined): Page<Item> {
    const step = isForward(request) ? 1 : -1;
    let index = step === 1 ? 0 : this.entries.length - 1;
    if (cursor !== undefined) index = step === 1 ? this.indexOf(cursor + 1) : this.indexOf(cursor) - 1;
    const { data, hasMore } = toPage(this.shownFrom(index, step), request, ({ bytes }) => bytes);
    return { data: data.map(({ item }) => item), hasMore };
  }

  private *shownFrom(start: number, step: 1 | -1): Generator<ConversationEntry> {
    let index = start;
    for (let entry = this.entries[index]; entry !== undefined; entry = this.entries[(index += step)]) {
      if (!entry.isGiven) yield entry;
    }
  }

  private put(entry: ConversationEntry): void {
    this.entries.push(entry);
    this.ids.add(entry.item.id);
    if (!entry.isGiven) this.shown.set(entry.item.id, entry);
  }

  /** The index of the entry at a position, or of the next one. */
  private indexOf(position: number): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle] as ConversationEntry).position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Items that clients see, as entries. */
export function seenEntries(items: readonly Item[]): readonly NewEntry[] {
  return items.map((item) => toEntry(item, false));
}

/** What a turn appends to its conversation. */
export function turnEntries(
  turn: Pick<ResponseRecord, 'input' | 'response' | 'given' | 'conversation'>,
): readonly NewEntry[] {
  const { response, given } = turn;
  const between = given.map(({ after, items }) => ({ after, items: items.map((item) => toEntry(item, true)) }));
  return [...seenEntries(keptInput(turn)), ...interleave(seenEntries(response.output), between)];
}

/** The bytes of entries together. */
export function bytesOf(entries: readonly Pick<ConversationEntry, 'bytes'>[]): number {
  return entries.reduce((total, { bytes }) => total + bytes, 0);
}

function toEntry(item: Item, isGiven: boolean): NewEntry {
  return { item, isGiven, bytes: ENTRY_BYTES + estimateBytes(item) };
}
