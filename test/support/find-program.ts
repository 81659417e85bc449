import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program of this machine; undefined where there is none. */
export function findOnPath(program: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, program)).find((path) => existsSync(path));
}
