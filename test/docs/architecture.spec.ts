import { readdir, readFile } from 'node:fs/promises';

import { expect, it } from '@jest/globals';

it('docs/architecture.md lists the folders of src that there are, and no others', async () => {
  const page = await readFile('docs/architecture.md', 'utf8');
  const listed = [...page.matchAll(/^\| `src\/([^`]+)` \|/gm)].map(([, folder = '']) => folder);
  const folders = (await readdir('src', { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.replace(/^src\//, ''));
  expect(listed.filter((folder) => !folders.includes(folder))).toEqual([]);
  const top = folders.filter((folder) => !folder.includes('/'));
  expect(top.filter((folder) => !listed.some((row) => row.split('/')[0] === folder))).toEqual([]);
});
