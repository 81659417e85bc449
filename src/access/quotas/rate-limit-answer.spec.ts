import { describe, expect, it } from '@jest/globals';

import { inUnits } from './rate-limit-answer.js';

describe('a duration in headers', () => {
  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [20, '20ms'],
    [999.2, '1s'],
    [1500, '1.5s'],
    [59_999, '59.999s'],
    [60_000, '1m0s'],
    [360_000, '6m0s'],
  ])('%d ms is %s', (durationMs, expected) => {
    expect(inUnits(durationMs)).toBe(expected);
  });
});
