import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from '@jest/globals';

import { JoinedPieces, readBounded } from './read-bounded.js';

describe(readBounded.name, () => {
  it('readBounded joins pieces in their order and leaves them as they were', async () => {
    const pieces = ['', 'first, ', 'second, ', '', 'third'].map((text) => Buffer.from(text));
    const body = (async function* () {
      yield* pieces;
    })();
    expect((await readBounded(body, 100, () => null)).toString()).toBe('first, second, third');
    expect(pieces.join('|')).toBe('|first, |second, ||third');
  });

  it('a body that comes byte by byte takes a few times its size', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const joined = new JoinedPieces();
    const before = used();
    for (let count = 0; count < 500_000; count++) joined.add(Buffer.from('x'));
    expect(used() - before).toBeLessThan(10_000_000);
    expect(joined.whole().toString()).toBe('x'.repeat(500_000));
  });
});
