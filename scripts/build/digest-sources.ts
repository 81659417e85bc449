import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a build depends on besides `src` and `console`. The lock file stands for the compiler and the bundler. */
const FILES = [
  'package-lock.json',
  'scripts/build/bundle-console.ts',
  'scripts/build/bundle-package.ts',
  'scripts/build/bundle.ts',
  'scripts/build/compile-program.ts',
  'scripts/build/list-licences.ts',
  'scripts/build/main.ts',
  'scripts/build/package-loader.ts',
  'scripts/build/program-loader.ts',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** A digest of all that is built and how, by path and content: times change with every checkout. */
export function digestSources(): string {
  const sources = ['src', 'console']
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const hash = createHash('sha256');
  for (const path of [...FILES, ...sources.sort()]) {
    const content = readFileSync(path);
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}
