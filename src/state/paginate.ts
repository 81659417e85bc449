import { type Page, type PageRequest, UnknownCursorError } from './response-store.js';

/** Cuts a page out of a list that is held oldest first. Throws UnknownCursorError for an `after` that is not in it. */
export function paginate<T extends { readonly id: string }>(items: readonly T[], page: PageRequest): Page<T> {
  const ordered = page.order === 'asc' ? items : items.toReversed();
  const start = page.after === undefined ? 0 : ordered.findIndex(({ id }) => id === page.after) + 1;
  if (start === 0 && page.after !== undefined) throw new UnknownCursorError(page.after);
  const end = start + page.limit;
  return { data: ordered.slice(start, end), hasMore: end < ordered.length };
}
