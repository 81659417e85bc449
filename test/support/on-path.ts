import { it } from '@jest/globals';

import { findOnPath } from './server-process.js';

/** A test with a program of this machine, given by its path. Where there is none the test is skipped, and says so. */
export function itWith(program: string, name: string, test: (path: string) => Promise<void>): void {
  const path = findOnPath(program);
  itUnless(path === undefined ? `${program} is not on PATH` : undefined, name, () => test(String(path)));
}

/** A test that is skipped for a reason, if there is one, and says so. */
export function itUnless(reason: string | undefined, name: string, test: () => Promise<void>): void {
  if (reason === undefined) {
    it(name, test);
    return;
  }
  console.warn(`SKIPPED, since ${reason}: ${name}`);
  it.skip(`${name} (skipped: ${reason})`, () => undefined);
}
