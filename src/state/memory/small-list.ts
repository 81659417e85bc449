import { type Sortable, SortedList } from './sorted-list.js';

/**
 * A list that mostly has no entry or one: what continues a response, what belongs to a session. Only from the second entry
 * on it is an object of its own, and then until it is empty. It has every entry once.
 */
export type SmallList<T extends Sortable> = T | SortedList<T> | undefined;

/** The list with one entry more. */
export function withEntry<T extends Sortable>(list: SmallList<T>, entry: T): T | SortedList<T> {
  if (list === undefined || list === entry) return entry;
  if (!(list instanceof SortedList)) return SortedList.of([list, entry]);
  if (!list.has(entry)) list.add(entry);
  return list;
}

/** The list without an entry, which it need not have; undefined where nothing is left. */
export function withoutEntry<T extends Sortable>(list: SmallList<T>, entry: T): SmallList<T> {
  if (!(list instanceof SortedList)) return list === entry ? undefined : list;
  list.remove(entry);
  return list.size === 0 ? undefined : list;
}

/** All entries in their order. */
export function entriesOf<T extends Sortable>(list: SmallList<T>): Iterable<T> {
  if (list === undefined) return [];
  return list instanceof SortedList ? list : [list];
}

/** The last entry that `shows` says yes to. */
export function findLast<T extends Sortable>(list: SmallList<T>, shows: (entry: T) => boolean): T | undefined {
  if (list instanceof SortedList) return list.findLast(shows);
  return list !== undefined && shows(list) ? list : undefined;
}

/** The list for pages to be cut from. */
export function toSortedList<T extends Sortable>(list: SmallList<T>): SortedList<T> {
  return list instanceof SortedList ? list : SortedList.of(entriesOf(list));
}
