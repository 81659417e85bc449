import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the repository is. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of a page. */
export interface CodeBlock {
  readonly page: string;
  /** The line of its fence, from 1. */
  readonly line: number;
  /** What follows the fence, such as `js run`. */
  readonly info: string;
  readonly code: string;
}

/** A file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The files below a folder, by their paths from the root. */
export function filesBelow(folder: string, ending: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

/** Every page of the documentation, the README first. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...filesBelow('docs', '.md'),
];

/** The code blocks of a page, also those in lists. */
export function blocksOf(page: string): readonly CodeBlock[] {
  const text = readText(page);
  const blocks = text.matchAll(/^(?<indent> *)```(?<info>\S.*)\n(?<code>[^]*?)^\k<indent>```$/gm);
  return [...blocks].map(({ index, groups: { indent = '', info = '', code = '' } = {} }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    info,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
