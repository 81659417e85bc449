import type { Item } from '../protocol/index.js';
import { UnknownCursorError } from './errors.js';
import type { Page, PageRequest } from './page.js';

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
