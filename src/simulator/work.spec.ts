import { describe, expect, it } from '@jest/globals';

import { boundWork, spend, TooMuchWork } from './work.js';

describe(boundWork.name, () => {
  it('boundWork returns what fits into the steps', () => {
    const run = (): string => {
      for (let step = 0; step < 10; step++) spend(1);
      return 'done';
    };
    expect(boundWork(10, run)).toBe('done');
    expect(() => boundWork(9, run)).toThrow(TooMuchWork);
  });

  it('boundWork ends work that catches the errors, too', () => {
    let steps = 0;
    const run = (): void => {
      for (; steps < 10; steps++) {
        try {
          spend(1);
        } catch {
          // As a library does that goes on with something else.
        }
      }
      spend(1);
    };
    expect(() => boundWork(5, run)).toThrow('too large');
    expect(steps).toBe(10);
  });

  it('boundWork counts for each call anew, and nothing outside', () => {
    expect(() => boundWork(1, () => spend(2, 'Too much of it.'))).toThrow('Too much of it.');
    boundWork(1, () => spend(1));
    boundWork(3, () => {
      expect(() => boundWork(1, () => spend(2))).toThrow(TooMuchWork);
      spend(3);
    });
    spend(1e12);
  });
});
