import { describe, expect, it } from '@jest/globals';

import { runBounded } from './run-bounded.js';

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
