import { expect } from '@jest/globals';

import { SharedClock } from '../../src/time/index.js';

/** The clock of a service on a machine whose own one is ahead by so many seconds. */
export function clockAhead(seconds: number): SharedClock {
  return new SharedClock({ now: () => Date.now() + seconds * 1000, elapsed: () => performance.now() });
}

/** The variables of a process on such a machine; its workers see the same clock. */
export function machineAhead(seconds: number): { readonly NODE_OPTIONS: string } {
  const source = `(${setClock.toString()})(${seconds * 1000})`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}

/** Sets the clock that a process sees, but not what counts from its start, such as `performance.now()`. */
function setClock(aheadMs: number): void {
  const now = Date.now;
  Date.now = () => now() + aheadMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, parts, made) =>
      Reflect.construct(target, parts.length === 0 ? [Date.now()] : parts, made) as object,
  });
}

/** What the clock of the databases of the tests shows, Unix seconds: they are on the machine of the test. */
export function databaseTime(): number {
  return Date.now() / 1000;
}

/** Expects that a time in whole seconds is one since `begun` by the clock of the databases, apart from rounding and the way there. */
export function expectSince(begun: number, seconds: number | null | undefined): void {
  expect(seconds).toBeGreaterThan(begun - 2);
  expect(seconds).toBeLessThan(databaseTime() + 2);
}
