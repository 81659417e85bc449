import { describe, expect, it } from '@jest/globals';

import { boundWork, runBounded, spend, TooMuchWork } from './work.js';

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

describe(runBounded.name, () => {
  it('runBounded terminates what uses its CPU time, as an error', () => {
    expect(() => runBounded(() => /^(a+)+$/.test(`${'a'.repeat(40)}b`), 20)).toThrow('did not end');
  });

  it('runBounded starts again what was terminated without having used it', () => {
    const never = new Int32Array(new SharedArrayBuffer(4));
    let calls = 0;
    const run = (): string => {
      calls += 1;
      // Waits without work, as on a machine that is busy with something else.
      if (calls === 1) Atomics.wait(never, 0, 0, 400);
      return 'done';
    };
    expect(runBounded(run, 200)).toBe('done');
    expect(calls).toBe(2);
  });

  it('runBounded throws what the function throws', () => {
    expect(() =>
      runBounded(() => {
        throw new RangeError('mine');
      }, 1000),
    ).toThrow('mine');
  });
});
