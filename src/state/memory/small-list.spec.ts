import { describe, expect, it } from '@jest/globals';

import { entriesOf, findLast, type SmallList, toSortedList, withEntry, withoutEntry } from './small-list.js';
import { SortedList } from './sorted-list.js';

const ENTRIES = ['a', 'b', 'c'].map((id) => ({ id, createdAt: 1000, bytes: 1 }));
type Entry = (typeof ENTRIES)[number];

describe('a small list', () => {
  const [first, second, third] = ENTRIES as [Entry, Entry, Entry];
  const listOf = (...entries: readonly Entry[]): SmallList<Entry> =>
    entries.reduce<SmallList<Entry>>((list, entry) => withEntry(list, entry), undefined);

  it.each([
    ['nothing', []],
    ['one entry', [first]],
    ['entries in any order', [third, first, second]],
    ['the same entry several times', [second, second, first, second, third, first]],
  ])('a small list has %s once and in order', (_, entries) => {
    const expected = [...new Set(entries)].sort((left, right) => (left.id < right.id ? -1 : 1));
    const list = listOf(...entries);
    expect([...entriesOf(list)]).toEqual(expected);
    expect([...toSortedList(list)]).toEqual(expected);
    expect(findLast(list, () => true)).toBe(expected.at(-1));
    expect(findLast(list, (entry) => entry === first)).toBe(expected[0] === first ? first : undefined);
    expect(findLast(list, () => false)).toBeUndefined();
  });

  it('a small list is a list of its own only from the second entry on', () => {
    expect(listOf(first, first)).toBe(first);
    expect(listOf(first, second)).toBeInstanceOf(SortedList);
  });

  it('a small list is nothing once all its entries are gone', () => {
    expect(withoutEntry(listOf(first), first)).toBeUndefined();
    const list = withoutEntry(listOf(first, second, third), second);
    expect([...entriesOf(list)]).toEqual([first, third]);
    expect(withoutEntry(withoutEntry(list, third), first)).toBeUndefined();
  });

  it('a small list does not lose what it keeps to what it never had', () => {
    expect(withoutEntry(undefined, first)).toBeUndefined();
    expect(withoutEntry(listOf(first), second)).toBe(first);
    expect([...entriesOf(withoutEntry(listOf(first, third), second))]).toEqual([first, third]);
  });
});
