// Slow: starts a browser.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { launchBrowser, noBrowser } from '../support/browser.js';
import { filesBelow, PAGES, ROOT } from './pages.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-site-'));
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/site/main.ts'), folder]);
});
afterAll(() => rm(folder, { recursive: true }));

/** The page of the site that is made of a page of the documentation. */
const fileOf = (page: string): string =>
  join(folder, page === 'README.md' ? 'index.html' : page.replace(/\.md$/, '.html'));

describe('the site of the documentation', () => {
  it('the site of the documentation has every page, whose links lead to pages, headings and images of the site', async () => {
    const broken: string[] = [];
    for (const page of PAGES) {
      const html = await readFile(fileOf(page), 'utf8');
      for (const [, link = ''] of html.matchAll(/(?:href|src)="((?![a-z]+:)[^"]*)"/g)) {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? fileOf(page) : join(dirname(fileOf(page)), path);
        const isThere = existsSync(target);
        if (!isThere || (anchor !== undefined && !readFileSync(target, 'utf8').includes(`id="${anchor}"`)))
          broken.push(`${page}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
    expect(filesBelow('docs', '.md').length).toBeGreaterThan(50);
  });

  it.each(['README.md', 'docs/architecture.md'])('draws the diagram of %s, with all its words', async (page) => {
    const html = await readFile(fileOf(page), 'utf8');
    const drawings = html.match(/<svg class="diagram"[^]*?<\/svg>/g) ?? [];
    const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(.*)\n([^]*?)^```$/gm);
    const diagrams = [...blocks].flatMap(([, lang, code = '']) => (lang === '' && /[►▼]/.test(code) ? [code] : []));
    expect([drawings.length, diagrams.length > 0]).toEqual([diagrams.length, true]);
    for (const [index, diagram] of diagrams.entries()) {
      const written = diagram
        .replaceAll(/[─│┌┐└┘├┤┬┴┼►▼▲]/g, ' ')
        .split(/\s+/)
        .filter(Boolean);
      const drawn = [...(drawings[index] ?? '').matchAll(/<text[^>]*>([^<]*)</g)].flatMap(([, words = '']) =>
        words.split(' '),
      );
      expect(drawn.map((word) => word.replaceAll('&lt;', '<').replaceAll('&amp;', '&'))).toEqual(written);
    }
  });
});

(noBrowser === undefined ? describe : describe.skip)('the search of the site', () => {
  const types: Readonly<Record<string, string>> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
  };
  let server: Server;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = join(folder, String(request.url));
      response.setHeader('content-type', types[extname(path)] ?? 'application/json');
      response.end(readFileSync(path));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it('the search of the site finds sections by their words from any page, and opens the first with Enter', async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(0);
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/docs/decisions/README.html`);
      await page.getByLabel('Search').fill('Operations: Activity totals');
      await page.locator('#found').getByText('Operations: Activity').waitFor();
      await page.getByLabel('Search').press('Enter');
      await page.waitForURL(/\/docs\/operations\.html#activity$/);
      await page.getByRole('heading', { name: 'Activity' }).waitFor();
    } finally {
      await browser.close();
    }
  });
});
