import { describe, expect, it } from '@jest/globals';

import { UuidIdGenerator } from './ids.js';

describe('ids', () => {
  const ids = new UuidIdGenerator();

  it('are a prefix and the digits of a UUIDv7', () => {
    expect(ids.next('resp')).toMatch(/^resp_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });

  it('are never the same twice, and sort in the order in which they were made', () => {
    const made = Array.from({ length: 10_000 }, () => ids.next('msg'));
    expect(new Set(made).size).toBe(made.length);
    expect(made.toSorted()).toEqual(made);
  });

  it('have nothing in common with those of another process', () => {
    const others = new UuidIdGenerator();
    const tails = (generator: UuidIdGenerator): readonly string[] =>
      Array.from({ length: 1000 }, () => generator.next('msg').slice(-12));
    expect(new Set([...tails(ids), ...tails(others)]).size).toBe(2000);
  });
});
