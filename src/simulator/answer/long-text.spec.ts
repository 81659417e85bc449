import { describe, expect, it } from '@jest/globals';

import { LongText } from './token-pieces.js';

describe(LongText.name, () => {
  let written = 0;
  function* write(): Generator<string> {
    for (;;) {
      written += 1;
      yield ' Nothing is lost.';
    }
  }

  it('a long text writes no more than was read', () => {
    const pieces = new LongText(1_000_000_000, write)[Symbol.iterator]();
    written = 0;
    for (let read = 0; read < 100; read++) expect(pieces.next().done).toBe(false);
    expect(written).toBe(25);
  });

  it('a long text has as many tokens as it says, and no more after it was shortened', () => {
    expect([...new LongText(10, write)]).toHaveLength(10);
    expect([...new LongText(10, write).take(3)].map(({ text }) => text)).toEqual([' Nothing', ' is', ' lost']);
    expect([...new LongText(10, write).take(30)]).toHaveLength(10);
  });
});
