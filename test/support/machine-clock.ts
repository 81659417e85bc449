import { expect } from '@jest/globals';

/** What the clock of the databases of the tests shows, Unix seconds: they are on the machine of the test. */
export function databaseTime(): number {
  return Date.now() / 1000;
}

/** Expects that a time in whole seconds is one since `begun` by the clock of the databases, apart from rounding and the way there. */
export function expectSince(begun: number, seconds: number | null | undefined): void {
  expect(seconds).toBeGreaterThan(begun - 2);
  expect(seconds).toBeLessThan(databaseTime() + 2);
}
