import { type ForeignItem, isToolCall } from '../../../protocol/index.js';
import type { ForeignEvent } from '../../model-event.js';
import { ItemProgress } from './item-progress.js';

/** The output items of an answer by their index and by their id, in the order in which they began. */
export class AnswerItems {
  private readonly byIndex = new Map<unknown, ItemProgress>();
  private readonly byId = new Map<unknown, ItemProgress>();
  /** Items by type whose deltas name neither. */
  private readonly unnamed = new Map<string, ItemProgress>();
  private readonly callIds = new Set<unknown>();
  private nextIndex = 0;

  /** The item that an event names; undefined if it names none, or two. */
  find({ output_index: index, item_id: id }: ForeignEvent): ItemProgress | undefined {
    return this.at(index, id);
  }

  /** The item of an index and an id, of which one may be missing. */
  at(index: unknown, id: unknown): ItemProgress | undefined {
    if (index == null) return this.byId.get(id);
    const item = this.byIndex.get(index);
    if (id == null || item?.id === id) return item;
    // Some servers give an item another id in each event. Only the id of another item contradicts the index, and some number all items
    // alike: then the open one is meant.
    const named = this.byId.get(id);
    if (named === undefined) return item;
    return named.isOpen && named.hasTakenIndex ? named : undefined;
  }

  /** The open item of a type that takes deltas without an index and an id. */
  unnamedOf(type: string): ItemProgress | undefined {
    const item = this.unnamed.get(type);
    return item?.isOpen === true ? item : undefined;
  }

  /** Notes that an item takes deltas without an index and an id. */
  setUnnamed(item: ItemProgress): void {
    this.unnamed.set(item.type, item);
  }

  /** Whether an index and an id are those of the next item, which was not announced. */
  isNew(index: unknown, id: unknown, type: string): boolean {
    if (id != null && this.byId.has(id)) return false;
    if (index == null) return !this.open.some((item) => item.type === type);
    if (this.byIndex.has(index)) return typeof id === 'string' && this.leavesIndex(index, type);
    return index === this.nextIndex;
  }

  /** The item that stands at a place of the finished output. Servers that change ids keep the order. */
  atEnd(place: number, { type, id }: ForeignItem): ItemProgress | undefined {
    const named = typeof id === 'string' ? this.byId.get(id) : undefined;
    if (named !== undefined) return named;
    const item = this.byIndex.get(place);
    return item?.type === type ? item : undefined;
  }

  /**
   * Adds an item; without an index, or with that of a closed item and an id of its own, behind all others. Null if its index, id or
   * `call_id` is taken, or the index is none.
   */
  add(index: unknown, item: ForeignItem): ItemProgress | null {
    const { id, call_id: callId } = item;
    const isTaken = typeof id === 'string' && this.leavesIndex(index, item.type);
    const place = isTaken ? this.nextIndex : (index ?? this.nextIndex);
    if (!isIndex(place) || this.byIndex.has(place) || this.byId.has(id)) return null;
    if (isToolCall(item)) {
      if (this.callIds.has(callId)) return null;
      this.callIds.add(callId);
    }
    this.nextIndex = Math.max(this.nextIndex, place + 1);
    const added = new ItemProgress(String(place), item, isTaken);
    this.byIndex.set(place, added);
    if (typeof id === 'string') this.byId.set(id, added);
    return added;
  }

  /** The items that are open. */
  get open(): readonly ItemProgress[] {
    return this.all.filter(({ isOpen }) => isOpen);
  }

  /** The final forms of the closed items that have one. */
  get finals(): readonly ForeignItem[] {
    return this.all.flatMap(({ final }) => (final === null ? [] : [final]));
  }

  /** Whether every item is in its final form. */
  get areFinal(): boolean {
    return this.all.every(({ final }) => final !== null);
  }

  /** Whether the item of an index leaves it to one of a type: it is closed, or of another type and was not announced. */
  private leavesIndex(index: unknown, type: string): boolean {
    const item = this.byIndex.get(index);
    return item !== undefined && (!item.isOpen || (!item.isAnnounced && item.type !== type));
  }

  private get all(): readonly ItemProgress[] {
    return [...this.byIndex.values()];
  }
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
