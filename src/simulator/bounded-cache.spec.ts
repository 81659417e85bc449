import { describe, expect, it } from '@jest/globals';

import { BoundedCache } from './bounded-cache.js';

describe(BoundedCache.name, () => {
  it('a bounded cache evicts the oldest values beyond its characters, keys included', () => {
    const cache = new BoundedCache<string>(10);
    cache.add('a', 'A', 3);
    cache.add('b', 'B', 3);
    expect([cache.get('a'), cache.get('b')]).toEqual(['A', 'B']);
    cache.add('c', 'C', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, 'B', 'C']);
  });

  it('a bounded cache keeps nothing that is larger than itself', () => {
    const cache = new BoundedCache<string>(10);
    cache.add('a', 'A', 10);
    expect(cache.get('a')).toBeUndefined();
  });
});
