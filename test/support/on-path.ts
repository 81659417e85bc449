import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { it } from '@jest/globals';

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

/** The path of a program of this machine; undefined where there is none. */
export function findOnPath(program: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, program)).find((path) => existsSync(path));
}
