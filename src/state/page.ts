import type { Item } from '../protocol/index.js';
import { UnknownCursorError } from './errors.js';
import { toKey } from './keys.js';

/** The position and size of a page. */
export interface PageRequest {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /**
   * Exclusive: the page begins after this id. Throws UnknownCursorError unless it is in the list, or was deleted from it or has
   * expired since, BOOKMARK_MS ago at most.
   */
  readonly after?: string;
  /** Exclusive: the page ends before this id. Never together with `after`. */
  readonly before?: string;
  /** Whether the cursor is that of a stored row, and a key already. */
  readonly isKey?: true;
  /** What a damaged record does: otherwise it is left out of the page, and logged; with `refuse` the page throws DamagedRecordError. */
  readonly damaged?: 'refuse';
}

/** Whether the list is read from the oldest to the newest to reach the page from its cursor. */
export function isForward({ order, before }: Pick<PageRequest, 'order' | 'before'>): boolean {
  return (order === 'asc') === (before === undefined);
}

/** The cursor of a page, as of `toKey`; undefined without one. */
export function cursorOf({ after, before, isKey }: Omit<PageRequest, 'limit' | 'order'>): string | undefined {
  const cursor = after ?? before;
  return cursor === undefined || isKey ? cursor : toKey(cursor);
}

/** One page in the requested order. */
export interface Page<T> {
  readonly data: readonly T[];
  /**
   * Whether more entries follow in the requested direction. A page may be shorter than its limit, because responses can
   * be large.
   */
  readonly hasMore: boolean;
}

/** Most bytes of responses on one page, not counting the first. */
export const PAGE_BYTES = 16 * 1024 * 1024;

/**
 * The page of entries that are read in the order from its cursor, bounded in number and, with `bytesOf`, in size; the first always fits. Reads one
 * entry more than it has, if there is one.
 */
export function toPage<T>(
  entries: Iterable<T>,
  { limit, before }: Pick<PageRequest, 'limit' | 'before'>,
  bytesOf: (entry: T) => number = () => 0,
): Page<T> {
  const data: T[] = [];
  let [bytes, hasMore] = [0, false];
  for (const entry of entries) {
    bytes += bytesOf(entry);
    hasMore = data.length === limit || (data.length > 0 && bytes > PAGE_BYTES);
    if (hasMore) break;
    data.push(entry);
  }
  // Read from its end, a page that ends before a cursor is turned round.
  return { data: before === undefined ? data : data.reverse(), hasMore };
}

/** A page of items that are stored oldest first. Throws UnknownCursorError. */
export function pageOfItems(items: readonly Item[], page: PageRequest): Page<Item> {
  const { after, before, limit, order } = page;
  const ordered = order === 'asc' ? items : items.toReversed();
  const cursor = after ?? before;
  const position = ordered.findIndex(({ id }) => id === cursor);
  if (cursor !== undefined && position < 0) throw new UnknownCursorError(page);
  if (before !== undefined) {
    const start = Math.max(0, position - limit);
    return { data: ordered.slice(start, position), hasMore: start > 0 };
  }
  const end = position + 1 + limit;
  return { data: ordered.slice(position + 1, end), hasMore: end < ordered.length };
}
