// Slow: starts a browser.
import { readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';

import { ConsoleFiles } from '../../src/console/index.js';
import { HomeModule } from '../../src/home/index.js';
import { buildConsole, launchBrowser, noBrowser } from '../support/browser.js';
import { type Service, startService } from '../support/service.js';

const KEY = 'a-key-of-the-test';

let files: URL;
let service: Service;

beforeAll(async () => {
  files = await buildConsole();
  service = await startService({
    environment: { API_KEYS: `red:${KEY}`, CONSOLE: 'true', SIMULATOR_CONTROL: 'true' },
    imports: [HomeModule],
    overrides: [[ConsoleFiles, new ConsoleFiles(files)]],
  });
});

afterAll(async () => {
  await service.close();
  await rm(files, { recursive: true });
});

const headers = { accept: 'text/html' };

describe('the page of the console', () => {
  it('has at most 150 kB, and no code or style in itself', async () => {
    const sizes = await Promise.all(['main.js', 'main.css'].map((name) => stat(new URL(name, files))));
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(150_000);
    for (const path of ['/', '/console', '/console/']) {
      const answer = await fetch(`${service.origin}${path}`, { headers });
      const page = await answer.text();
      expect(page).not.toMatch(/<style|style=|<script(?! type="module" src=")/);
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      const [, script = ''] = /src="([^"]*)"/.exec(page) ?? [];
      const loaded = await fetch(new URL(script, answer.url));
      expect([loaded.status, await loaded.text()]).toEqual([200, await readFile(new URL('main.js', files), 'utf8')]);
    }
  });

  it.each([
    ['with keys', {}, 404],
    ['with CONSOLE=false', { API_KEYS: '', CONSOLE: 'false' }, 404],
    ['without keys', { API_KEYS: '' }, 200],
  ])('is there only where it is wanted: %s', async (_name, environment, status) => {
    await using other = await startService({
      environment: { API_KEYS: 'red:x', ...environment },
      imports: [HomeModule],
    });
    const answer = await fetch(`${other.origin}/console`);
    await answer.body?.cancel();
    expect(answer.status).toBe(status);
  });
});

if (noBrowser !== undefined) process.stderr.write(`The console is not tested in a browser: ${noBrowser}\n`);

(noBrowser === undefined ? describe : describe.skip)('the console in a browser', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  /** What the page has done that it must not: errors, violations of its policy, requests to other hosts. */
  let faults: string[];

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    faults = [];
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    context.setDefaultTimeout(0);
    page = await context.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(message.text());
    });
    page.on('request', (request) => {
      if (!/^(?:data|http:\/\/127\.0\.0\.1)/.test(request.url())) faults.push(request.url());
    });
    await page.goto(`${service.origin}/console`);
  });
  afterEach(async () => {
    await context.close();
    expect(faults).toEqual([]);
  });

  /** Types the key in, and waits for the models. */
  async function enter(): Promise<void> {
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Use key' }).click();
    await page.getByLabel('Message').waitFor();
  }

  async function say(text: string): Promise<void> {
    await page.getByLabel('Message').fill(text);
    await page.getByLabel('Message').press('Enter');
  }

  const completed = (count: number): Promise<void> =>
    page
      .getByText(/^completed, /)
      .nth(count - 1)
      .waitFor();

  /** Has the simulator write a text in its next turn. */
  async function script(text: string): Promise<void> {
    const answer = await fetch(`${service.origin}/simulator/scripts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', turns: [{ text }] }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
  }

  it('asks for a key, refuses a wrong one, and keeps the right one nowhere', async () => {
    await page.getByText('This service needs an API key.').waitFor();
    await page.getByLabel('API key').fill('wrong');
    await page.getByRole('button', { name: 'Use key' }).click();
    await page.getByText('Incorrect API key').waitFor();
    await enter();
    const kept = await page.evaluate(
      '[location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()',
    );
    expect(kept).not.toContain(KEY);
  });

  it('goes on with one conversation over every transport, and shows the code of each turn', async () => {
    await enter();
    for (const [index, transport] of ['JSON', 'SSE', 'WebSocket'].entries()) {
      await page.getByLabel('Transport').selectOption(transport);
      await say(`Hello over ${transport}`);
      await completed(index + 1);
    }
    // For docs/console.md, and only when it is asked for.
    if (process.env['SCREENSHOTS'] === 'true') {
      await page.setViewportSize({ width: 1000, height: 760 });
      await page.screenshot({ path: 'docs/images/console.png' });
    }
    const codes = await page.locator('article').last().locator('figure').allTextContents();
    expect(codes).toEqual([expect.stringContaining('previous_response_id')]);
    expect(await page.locator('article').first().locator('figcaption').allTextContents()).toEqual([
      'curl',
      'JavaScript',
      'Python',
    ]);
    // The tree of the conversation, from its last response.
    await page.getByRole('button', { name: 'Inspect', exact: true }).last().click();
    await page.locator('.tree button').nth(2).waitFor();
    expect(await page.locator('.tree button').count()).toBe(3);
  });

  it('shows what a model writes as HTML and script as text', async () => {
    await script(
      '**bold** <img src=x onerror="window.hit = 1"><script>window.hit = 1</script> [a](javascript:window.hit=1) ![b](https://evil.example/b.png)',
    );
    await page.reload();
    await enter();
    await page.getByLabel('Model').selectOption('gpt-5');
    await say('Hi');
    await completed(1);
    const answer = page.locator('.message.assistant');
    await answer.locator('strong', { hasText: 'bold' }).waitFor();
    expect(await answer.locator('img, script, [onerror]').count()).toBe(0);
    expect(await answer.textContent()).toContain('<script>window.hit = 1</script>');
    const links = await Promise.all((await answer.locator('a').all()).map((link) => link.getAttribute('href')));
    expect(links).toEqual([null, 'https://evil.example/b.png']);
    expect(await page.evaluate('window.hit')).toBeUndefined();
  });

  it('replays a background stream behind any event', async () => {
    await enter();
    await page.getByText('Options').click();
    await page.getByLabel('Background').check();
    await say('Hello');
    await completed(1);
    await page.getByRole('button', { name: 'Inspect', exact: true }).click();
    await page.getByLabel('After event').fill('3');
    await page.getByRole('button', { name: 'Replay' }).click();
    expect(await page.locator('.inspector .event').first().textContent()).toMatch(/^4 response\./);
  });

  it('keeps only what is in sight of 10,000 events in the page', async () => {
    await script('word '.repeat(10_000));
    await page.reload();
    await enter();
    await page.getByLabel('Model').selectOption('gpt-5');
    await say('Hi');
    await completed(1);
    await page.locator('summary', { hasText: /^Events \(\d\d,\d{3}\)$/ }).click();
    expect(await page.locator('.event').count()).toBeLessThan(100);
    await page.locator('.events').press('End');
    await page.locator('.event', { hasText: 'response.completed' }).waitFor();
  });

  it.each([
    ['a phone', 360, 'light'],
    ['a tablet', 820, 'dark'],
    ['a desk', 1600, 'light'],
  ] as const)('fits %s, without serious faults of accessibility', async (_name, width, colorScheme) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await enter();
    await page.getByRole('button', { name: 'Two lanes' }).click();
    await page.getByLabel('Message').first().fill('Hello');
    await page.getByRole('button', { name: 'Send' }).first().click();
    await completed(1);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    // Through the debugger, which the policy of the page does not bind.
    await page.evaluate(axe);
    const violations = await page.evaluate(
      'axe.run().then(({ violations }) => violations.filter(({ impact }) => /serious|critical/.test(impact)).map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))',
    );
    expect(violations).toEqual([]);
  });
});
