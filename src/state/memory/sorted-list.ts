import { isForward, type Page, type PageRequest, toPage } from '../page.js';

/** An entry that is listed in the order of creation. */
export interface Sortable {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly bytes: number;
}

/** A place in the order, which no entry needs to have. */
export type SortedPlace = Pick<Sortable, 'id' | 'createdAt'>;

/** A list ordered by time of creation, then by id. Always sorted, so that a page costs only its entries. */
export class SortedList<T extends Sortable> implements Iterable<T> {
  private entries: (T | undefined)[] = [];
  /**
   * Index of the first entry: a full store removes the first entry each time, and moving all others would be too
   * expensive.
   */
  private head = 0;

  static of<T extends Sortable>(entries: Iterable<T>): SortedList<T> {
    const list = new SortedList<T>();
    for (const entry of entries) list.add(entry);
    return list;
  }

  get size(): number {
    return this.entries.length - this.head;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = this.head; index < this.entries.length; index++) yield this.entries[index] as T;
  }

  has(entry: T): boolean {
    return this.entries[this.positionOf(entry)] === entry;
  }

  add(entry: T): void {
    this.entries.splice(this.positionOf(entry), 0, entry);
  }

  remove(entry: T): void {
    if (this.entries[this.head] === entry) this.removeFirst();
    else if (this.has(entry)) this.entries.splice(this.positionOf(entry), 1);
  }

  /** The last entry that `shows` accepts. */
  findLast(shows: (entry: T) => boolean): T | undefined {
    for (let index = this.entries.length - 1; index >= this.head; index--) {
      const entry = this.entries[index] as T;
      if (shows(entry)) return entry;
    }
    return undefined;
  }

  /** A page of the entries that `shows` accepts, from the place of its cursor on. */
  page(request: PageRequest, cursor: SortedPlace | undefined, shows: (entry: T) => boolean): Page<T> {
    const step = isForward(request) ? 1 : -1;
    let index = step === 1 ? this.head : this.entries.length - 1;
    if (cursor !== undefined) {
      const position = this.positionOf(cursor);
      const next = this.entries[position];
      const isEntry = next !== undefined && !isBefore(cursor, next);
      index = step === 1 && !isEntry ? position : position + step;
    }
    return toPage(this.from(index, step, shows), request, ({ bytes }) => bytes);
  }

  private *from(start: number, step: 1 | -1, shows: (entry: T) => boolean): Generator<T> {
    for (let index = start; index >= this.head && index < this.entries.length; index += step) {
      const entry = this.entries[index] as T;
      if (shows(entry)) yield entry;
    }
  }

  private removeFirst(): void {
    this.entries[this.head] = undefined;
    this.head += 1;
    if (this.head * 2 <= this.entries.length) return;
    this.entries = this.entries.slice(this.head);
    this.head = 0;
  }

  /** The index of an entry, or where to insert it. New ones usually come last. */
  private positionOf(entry: SortedPlace): number {
    const last = this.entries.at(-1);
    if (last === undefined || isBefore(last, entry)) return this.entries.length;
    let low = this.head;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.entries[middle] as T, entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(left: SortedPlace, right: SortedPlace): boolean {
  if (left.createdAt !== right.createdAt) return left.createdAt < right.createdAt;
  return left.id < right.id;
}
