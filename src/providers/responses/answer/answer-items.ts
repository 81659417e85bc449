import { type ForeignItem, isToolCall } from '../../../protocol/index.js';
import { objectsIn } from '../../../validation/index.js';
import { isIndex, ItemProgress } from './item-progress.js';

/** The output items of an answer by their index and by their id, in the order in which they began. */
export class AnswerItems {
  private readonly byIndex = new Map<unknown, ItemProgress>();
  private readonly byId = new Map<unknown, ItemProgress>();
  /** Items by type whose deltas name neither. */
  private readonly unnamed = new Map<string, ItemProgress>();
  private readonly callIds = new Set<unknown>();
  private nextIndex = 0;

  /**
   * The item that an event or a final form means; undefined if it means none so far, as that of a new item does. Its id counts more than its
   * index: some servers give all items the same index. An unknown id counts less: others give an item another id in each event.
   */
  meant(index: unknown, id: unknown, type?: string): ItemProgress | undefined {
    const named = id == null ? undefined : this.byId.get(id);
    if (named !== undefined && (!named.isOpen || type === undefined || named.type === type)) return named;
    const placed = index == null ? undefined : this.byIndex.get(index);
    if (placed === undefined || (placed.isOpen && placed.type === type)) return placed ?? named;
    if (named !== undefined) return named;
    return typeof id === 'string' && type !== undefined && this.leavesIndex(index, type) ? undefined : placed;
  }

  /** The open item of a type that takes deltas without an index and an id. */
  unnamedOf(type: string): ItemProgress | undefined {
    const item = this.unnamed.get(type);
    return item?.isOpen === true ? item : undefined;
  }

  /** The last item of a type, for an event that names none; undefined for one that does. */
  lastOf(index: unknown, id: unknown, type: string): ItemProgress | undefined {
    return index == null && id == null ? this.all.findLast((item) => item.type === type) : undefined;
  }

  /** Notes that an item takes deltas without an index and an id. */
  setUnnamed(item: ItemProgress): void {
    this.unnamed.set(item.type, item);
  }

  /**
   * The item that stands at a place of the finished output; undefined for one that is new. Servers that change ids keep the order, and some
   * leave gaps between their indexes.
   */
  atEnd(place: number, form: ForeignItem): ItemProgress | undefined {
    const { type, id } = form;
    const named = typeof id === 'string' ? this.byId.get(id) : undefined;
    if (named !== undefined) return named;
    const item = [this.byIndex.get(place), this.all[place]].find((each) => each?.type === type);
    if (item === undefined) return this.unnamedOf(type);
    return item.isOpen || typeof id !== 'string' || this.repeats(form) ? item : undefined;
  }

  /** Whether a form of an item under an unknown id says what closed items have said already. */
  private repeats({ type, call_id: callId, name, ...form }: ForeignItem): boolean {
    if (type === 'message') return this.finals.map(wordsOf).join('').includes(wordsOf(form).trim());
    if (!isToolCall({ type })) return true;
    const payload = form.arguments ?? form.input;
    return (
      this.callIds.has(callId) ||
      this.finals.some((made) => made.name === name && (made.arguments ?? made.input) === payload)
    );
  }

  /**
   * Adds an item; without a usable index, or with one that another item leaves to it, behind all others. Null if its index, id or `call_id`
   * is taken.
   */
  add(index: unknown, item: ForeignItem): ItemProgress | null {
    const { id, call_id: callId } = item;
    const isTaken = typeof id === 'string' && this.leavesIndex(index, item.type);
    const place = isTaken || !isIndex(index) ? this.nextIndex : index;
    if (!isIndex(place) || this.byIndex.has(place) || this.byId.has(id)) return null;
    if (isToolCall(item)) {
      if (this.callIds.has(callId)) return null;
      this.callIds.add(callId);
    }
    this.nextIndex = Math.max(this.nextIndex, place + 1);
    const added = new ItemProgress(String(place), item);
    this.byIndex.set(place, added);
    if (typeof id === 'string') this.byId.set(id, added);
    return added;
  }

  /** Whether there is anything but reasoning and empty messages. */
  get haveAnswered(): boolean {
    return this.all.some(({ type, isSilent, final }) => {
      if (type === 'message') return !isSilent || (Array.isArray(final?.content) && final.content.length > 0);
      return type !== 'reasoning';
    });
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

  /** Whether the item of an index leaves it to one of a type: it is closed, or of another type. */
  private leavesIndex(index: unknown, type: string): boolean {
    const item = this.byIndex.get(index);
    return item !== undefined && (!item.isOpen || item.type !== type);
  }

  private get all(): readonly ItemProgress[] {
    return [...this.byIndex.values()];
  }
}

/** The texts in the content of an item. */
function wordsOf({ content }: Readonly<Record<string, unknown>>): string {
  return objectsIn(content)
    .map(({ text, refusal }) => text ?? refusal)
    .filter((words) => typeof words === 'string')
    .join('');
}
