import { describe, expect, it } from '@jest/globals';

import { SortedList } from './sorted-list.js';

const entry = (index: number) => ({ id: String(index).padStart(4, '0'), createdAt: 1000 + (index >> 3), bytes: 1 });

describe('a sorted list', () => {
  it('a sorted list is in order whatever comes and goes, and however often its first entry goes', () => {
    const list = new SortedList<ReturnType<typeof entry>>();
    const entries = Array.from({ length: 400 }, (_, index) => entry(index));
    // 149 and 400 have no divisor in common: every entry comes once, in no order.
    for (let index = 0; index < entries.length; index++) list.add(entries[(index * 149) % 400] as (typeof entries)[0]);
    let expected = entries;
    expect([...list]).toEqual(expected);
    while (expected.length > 0) {
      const gone = [expected[0], expected[Math.floor(expected.length / 2)], expected.at(-1)];
      for (const one of gone) if (one !== undefined) list.remove(one);
      expected = expected.filter((one) => !gone.includes(one));
      expect([...list]).toEqual(expected);
      expect(list.size).toBe(expected.length);
      expect(gone.some((one) => one !== undefined && list.has(one))).toBe(false);
      const { data } = list.page({ limit: 5, order: 'asc' }, undefined, () => true);
      expect(data).toEqual(expected.slice(0, 5));
      const latest = list.page({ limit: 5, order: 'desc' }, undefined, () => true);
      expect(latest.data).toEqual(expected.slice(-5).reverse());
      const from = gone[1];
      const newer = list.page({ limit: 400, order: 'asc' }, from, () => true).data;
      const older = list.page({ limit: 400, order: 'desc' }, from, () => true).data;
      expect([...older.toReversed(), ...newer]).toEqual(expected);
      expect(newer.every(({ id }) => id > (from?.id ?? ''))).toBe(true);
    }
    list.add(entry(7));
    expect([...list]).toEqual([entry(7)]);
  });
});
