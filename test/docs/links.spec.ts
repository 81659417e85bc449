import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { filesBelow, PAGES, readText, ROOT } from './pages.js';

/** What GitHub makes of a heading. */
function toAnchor(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): readonly string[] {
  return [...readText(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => toAnchor(heading));
}

describe.each(PAGES)('%s', (page) => {
  // What stands in code is no link.
  const prose = readText(page)
    .replaceAll(/^```.*?^```$/gms, '')
    .replaceAll(/`[^`\n]*`/g, '``');
  const links = [...prose.matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)].map(([, link = '']) => link);

  it('a page links only to files and headings that are there', () => {
    const broken = links.filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe('a page that code names', () => {
  const folders = ['src', 'test', 'bench', 'scripts'];
  const sources = folders
    .flatMap((folder) => filesBelow(folder, '.ts'))
    .filter((path) => !path.startsWith('test/docs/'));
  const namesOf = (pattern: RegExp): readonly string[] =>
    sources.flatMap((source) => [...readText(source).matchAll(pattern)].map(([name]) => `${source}: ${name}`));

  it('a page that code names is there', () => {
    const named = namesOf(/(?<![\w/])docs\/[\w/-]+\.md\b/g);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !existsSync(join(ROOT, name.split(': ').at(-1) ?? '')))).toEqual([]);
  });

  it('a page that code names is in the package, which has .env.example and the help', () => {
    const { files } = JSON.parse(readText('package.json')) as { readonly files: readonly string[] };
    expect(files).toEqual(expect.arrayContaining(['docs', '.env.example']));
  });

  it('a page that code names is one page, not the folder of all decisions', () => {
    expect(namesOf(/(?<![\w/])docs\/decisions(?!\/[\w-]+\.md)/g)).toEqual([]);
  });
});
