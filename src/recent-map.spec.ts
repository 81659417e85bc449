import { describe, expect, it } from '@jest/globals';

import { RecentMap } from './recent-map.js';

describe(RecentMap.name, () => {
  it('a full map forgets what was set longest ago, and not what was used or set since', () => {
    const map = new RecentMap<number>(3);
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
    expect([...map.keys()]).toEqual(['b', 'c', 'd']);
    expect(map.use('b')).toBe(1);
    map.set('c', 5);
    expect(map.use('a')).toBeUndefined();
    map.set('e', 4);
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 5],
      ['e', 4],
    ]);
  });
});
