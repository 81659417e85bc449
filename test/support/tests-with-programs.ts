import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

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

/** Runs a script with arguments, and gives what it prints as JSON. */
export type RunPython = (script: string, ...values: readonly string[]) => Promise<unknown>;

/** A test with the official Python SDK: python3, or what PYTHON names, with the package `openai`. Skipped, and said so, where it is not there. */
export function itInPython(name: string, test: (run: RunPython) => Promise<void>): void {
  const python = process.env['PYTHON'] ?? findOnPath('python3');
  const isThere = python !== undefined && spawnSync(python, ['-c', 'import openai']).status === 0;
  if (!isThere) console.warn(`SKIPPED, since python3 with the package openai is not there: ${name}`);
  const run: RunPython = async (script, ...values) => {
    const { stdout } = await promisify(execFile)(String(python), ['-c', script, ...values]);
    return JSON.parse(stdout) as unknown;
  };
  (isThere ? it : it.skip)(name, () => test(run));
}
