import { expect } from '@jest/globals';

import { EnvironmentError } from '../../src/config/index.js';
import { type ScriptFiles, startWithScripts } from './script-files.js';

/** The lines that an operator reads when a service does not start; none when it does. */
export async function startFaultsOf(start: Promise<AsyncDisposable>): Promise<readonly string[]> {
  try {
    await (await start)[Symbol.asyncDispose]();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return error.message.split('\n');
  }
  return [];
}

/** The lines about scripts that cannot be used. */
export function faultsOfFiles(files: ScriptFiles): Promise<readonly string[]> {
  return startFaultsOf(startWithScripts(files));
}

/** Proves that there is one line, and that it names the file and then the place: what comes next, or a part of it. */
export function expectLine(lines: readonly string[], file: string, place: RegExp | string): void {
  expect(lines).toEqual([expect.stringMatching(/^SIMULATOR_SCRIPTS: \S.*[^.]\.$/)]);
  const [, words = ''] = lines.join().split(`/${file}: `);
  expect(words.length).toBeLessThan(300);
  if (typeof place === 'string') expect(words.slice(0, place.length + 1)).toBe(`${place} `);
  else expect(words).toMatch(place);
}
