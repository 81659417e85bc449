import { it } from '@jest/globals';

import { findOnPath } from './find-program.js';

/** A test with a program of this machine, given by its path. Where there is none the test is skipped, and says so. */
export function itWith(program: string, name: string, test: (path: string) => Promise<void>): void {
  const path = findOnPath(program);
  if (path !== undefined) {
    it(name, () => test(path));
    return;
  }
  console.warn(`SKIPPED, since ${program} is not on PATH: ${name}`);
  it.skip(`${name} (skipped: ${program} is not on PATH)`, () => undefined);
}
