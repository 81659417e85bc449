import { describe, expect, it } from '@jest/globals';

import { SystemClock } from './clock.js';

describe(SystemClock.name, () => {
  it.each([99_999_999_999_999, Infinity])('a timer of %i ms does not fire at once', async (delayMs) => {
    const clock = new SystemClock();
    const fired: string[] = [];
    const timer = clock.schedule(delayMs, () => fired.push('long'));
    // Timers fire in the order of their delays; one that overflows counts as 1 ms.
    await new Promise<void>((resolve) => clock.schedule(2, resolve));
    timer.cancel();
    expect(fired).toEqual([]);
  });
});
