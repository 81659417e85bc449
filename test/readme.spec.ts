import { readFile } from 'node:fs/promises';

import { beforeAll, describe, expect, it } from '@jest/globals';

import { ERROR_CODES } from '../src/index.js';

describe('the README', () => {
  let readme: string;

  beforeAll(async () => {
    readme = await readFile('README.md', 'utf8');
  });

  it('lists every error code beside its status and type', () => {
    const rows = readme.split('\n').filter((line) => /^\| \d{3}/.test(line));
    for (const [code, { status, type }] of Object.entries(ERROR_CODES)) {
      const row = rows.find((line) => line.includes(`\`${code}\``) && line.includes(String(status)));
      expect([code, row?.includes(`\`${type}\``)]).toEqual([code, true]);
    }
  });

  it.each([
    ['README.md', 'test/support/acme.provider.ts'],
    ['docs/tools.md', 'test/support/weather-tool.ts'],
    ['README.md', 'test/contract/provider-readme.spec.ts'],
  ])('shows in %s %s as it is', async (page, path) => {
    const code = (await readFile(path, 'utf8'))
      .replace('../../src/testing/index.js', 'antiphon/testing')
      .replace('../../src/index.js', 'antiphon')
      .replace('../support/', './');
    expect(onOneLine(await readFile(page, 'utf8'))).toContain(onOneLine(code));
  });

  it('names no file that is not there', async () => {
    const links = [...readme.matchAll(/\]\(((?!https?:)[^)#]+)\)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(10);
    for (const link of links) await expect(readFile(link, 'utf8')).resolves.not.toBe('');
  });
});

/** What prettier wraps depends on the length of paths. */
function onOneLine(code: string): string {
  return code
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/,? ([}\])])/g, ' $1')
    .trim();
}
