/** `npm run docs:site -- [folder]` makes a static site of the documentation, with a search. Fails when a link leads nowhere. */
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSite } from './build-site.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = process.argv[2] ?? join(ROOT, 'site');

/** The files below `docs`, by their paths from the root. */
async function filesOf(): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, 'docs'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

const files = await filesOf();
const paths = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...files.filter((path) => path.endsWith('.md')),
];
const images = files.filter((path) => path.endsWith('.png'));
const pages = await Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })));
const site = buildSite(pages, new Set(images));

// Another folder may hold more than the site.
if (process.argv[2] === undefined) await rm(FOLDER, { recursive: true, force: true });
for (const [path, content] of site.files) {
  await mkdir(dirname(join(FOLDER, path)), { recursive: true });
  await writeFile(join(FOLDER, path), content);
}
for (const path of images) await cp(join(ROOT, path), join(FOLDER, path));
for (const name of ['search.js', 'site.css']) await cp(new URL(name, import.meta.url), join(FOLDER, name));

for (const link of site.broken) console.error(`This link leads nowhere: ${link}`);
console.log(`${pages.length} pages in ${FOLDER}`);
process.exitCode = site.broken.length > 0 ? 1 : 0;
