import { type Sortable, SortedList } from './sorted-list.js';

/**
 * A list that usually has at most one entry, such as the children of a response. A SortedList is only allocated for the
 * second entry, and used until the list is empty. Entries are unique.
 */
export type SmallList<T extends Sortable> = T | SortedList<T> | undefined;

/** The list with an additional entry. */
export function withEntry<T extends Sortable>(list: SmallList<T>, entry: T): T | SortedList<T> {
  if (list === undefined || list === entry) return entry;
  if (!(list instanceof SortedList)) return SortedList.of([list, entry]);
  if (!list.has(entry)) list.add(entry);
  return list;
}

/** The list without an entry, if it has it; undefined when it is empty. */
export function withoutEntry<T extends Sortable>(list: SmallList<T>, entry: T): SmallList<T> {
  if (!(list instanceof SortedList)) return list === entry ? undefined : list;
  list.remove(entry);
  return list.size === 0 ? undefined : list;
}

/** All entries in order. */
export function entriesOf<T extends Sortable>(list: SmallList<T>): Iterable<T> {
  if (list === undefined) return [];
  return list instanceof SortedList ? list : [list];
}

/** The last entry that `shows` accepts. */
export function findLast<T extends Sortable>(list: SmallList<T>, shows: (entry: T) => boolean): T | undefined {
  if (list instanceof SortedList) return list.findLast(shows);
  return list !== undefined && shows(list) ? list : undefined;
}

/** The list as a SortedList, for paging. */
export function toSortedList<T extends Sortable>(list: SmallList<T>): SortedList<T> {
  return list instanceof SortedList ? list : SortedList.of(entriesOf(list));
}
