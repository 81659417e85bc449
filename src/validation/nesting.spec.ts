import { describe, expect, it } from '@jest/globals';
import { isDeeperThan } from './nesting.js';

const arrays = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const objects = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels));

describe(isDeeperThan, () => {
  it.each([arrays, objects])('counts levels of %p', (build) => {
    expect(isDeeperThan(3, build(3))).toBe(false);
    expect(isDeeperThan(3, build(4))).toBe(true);
  });

  it('looks behind shallow neighbours', () => {
    expect(isDeeperThan(2, [1, null, 'x', [], { a: [1] }])).toBe(true);
  });

  it('survives a bomb and a circle', () => {
    expect(isDeeperThan(256, arrays(200_000))).toBe(true);
    const circle: unknown[] = [];
    circle.push(circle, circle);
    expect(isDeeperThan(256, circle)).toBe(true);
  });

  it('finds what hides behind __proto__', () => {
    expect(isDeeperThan(1, JSON.parse('{"__proto__":{}}'))).toBe(true);
  });
});
