// Slow: starts a browser.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

import { describeConsole, KEY } from './use-console.js';

/** Pixels of the tabs that are cut. */
const HIDDEN_TABS = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('nav'))";

describeConsole('the console in a browser', { environment: { SIMULATOR_CONTROL: 'true' } }, (test) => {
  it('the console asks for a key, refuses a wrong one, and keeps the right one nowhere', async () => {
    await test.page.getByText('This service needs an API key.').waitFor();
    await test.page.getByLabel('API key').fill('wrong');
    await test.page.getByRole('button', { name: 'Use key' }).click();
    await test.page.getByText('Incorrect API key').waitFor();
    await test.enter();
    const kept = await test.page.evaluate(
      '[location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()',
    );
    expect(kept).not.toContain(KEY);
  });

  it('the console goes on with one conversation over every transport, and shows the code of each turn', async () => {
    await test.enter();
    for (const [index, transport] of ['JSON', 'SSE', 'WebSocket'].entries()) {
      await test.page.getByLabel('Transport').selectOption(transport);
      await test.say(`Hello over ${transport}`);
      await test.completed(index + 1);
    }
    await test.page.evaluate("document.querySelector('.turns').scrollTo(0, 1e6)");
    await test.takePicture('console');
    for (const summary of await test.page.getByText('As code').all()) await summary.click();
    await test.page.getByText('JavaScript', { exact: true }).nth(2).waitFor();
    const codes = await test.page.locator('article').last().locator('figure').allTextContents();
    expect(codes).toEqual([expect.stringContaining('previous_response_id')]);
    expect(await test.page.locator('article').first().locator('figcaption').allTextContents()).toEqual([
      'curl',
      'JavaScript',
      'Python',
    ]);
    // The tree of the conversation, from its last response.
    await test.page.getByRole('button', { name: 'Inspect', exact: true }).last().click();
    await test.page.locator('.tree a').nth(2).waitFor();
    expect(await test.page.locator('.tree a').count()).toBe(3);
    await test.takePicture('console-inspector');
  });

  it('the console shows a request that works as it is, copies it, and leads to the description of the API', async () => {
    await test.enter();
    await test.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const start = test.page.locator('.start');
    await start.getByRole('button', { name: 'Copy curl' }).click();
    await start.getByText('Copied').waitFor();
    const copied = await test.page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe(await start.locator('pre').textContent());
    const { stdout } = await promisify(execFile)('sh', ['-c', copied], { env: { ...process.env, API_KEY: KEY } });
    expect(JSON.parse(stdout)).toMatchObject({ object: 'response', status: 'completed' });
    const address = await start.getByRole('link', { name: 'Documentation of the API' }).getAttribute('href');
    expect(new URL(address ?? '').pathname).toBe('/docs');
    const icon = await test.page.locator('link[rel=icon]').getAttribute('href');
    expect(icon).toMatch(/^data:image\/svg/);
  });

  it('the console numbers a list from where its writer begins', async () => {
    await test.script('3. three\n4. four\n\n| a |\n| -: |\n| 1 |');
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Hi');
    await test.completed(1);
    expect(await test.page.locator('.assistant ol').getAttribute('start')).toBe('3');
    expect(await test.page.locator('.assistant td').getAttribute('align')).toBe('right');
  });

  it('the console shows more than a page of input items, also after a page could not be read', async () => {
    const input = Array.from({ length: 150 }, (_, index) => ({ role: 'user', content: `Message ${index + 1}.` }));
    const { id } = await test.service
      .client({ apiKey: KEY })
      .responses.create({ model: 'gpt-5', input: input as never });
    await test.enter();
    await test.open('Inspector');
    await test.page.getByLabel('Id of a response').fill(id);
    await test.page.getByLabel('Id of a response').press('Enter');
    await test.page.getByText('Message 100.', { exact: true }).waitFor();
    expect(await test.page.getByText('Message 101.', { exact: true }).count()).toBe(0);
    await test.page.route('**/input_items?*after=*', (route) => route.abort(), { times: 1 });
    await test.page.getByRole('button', { name: 'Show more' }).click();
    await test.page.getByRole('alert').filter({ hasText: 'The service does not answer.' }).waitFor();
    await test.page.getByRole('button', { name: 'Try again' }).click();
    await test.page.getByText('Message 150.', { exact: true }).waitFor();
    expect(await test.page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  });

  it('the console replays a background stream behind any event', async () => {
    await test.enter();
    await test.page.getByText('Options').click();
    await test.page.getByLabel('Background').check();
    await test.say('Hello');
    await test.completed(1);
    await test.page.getByRole('button', { name: 'Inspect', exact: true }).click();
    await test.page.getByLabel('After event').fill('3');
    await test.page.getByRole('button', { name: 'Replay' }).click();
    expect(await test.page.locator('.event').first().textContent()).toMatch(/^4response\./);
  });

  it('the console shows events with their numbers and times, and goes through them with arrow keys', async () => {
    await test.enter();
    await test.say('Hello');
    await test.completed(1);
    await test.page.getByText(/^Events/).click();
    const list = test.page.getByRole('listbox', { name: 'Events' });
    const rows = await list.getByRole('option').allInnerTexts();
    const numbers = rows.map((row) => Number(/^(\d+)\s+\d+\.\d{3} s\s+response\./.exec(row)?.[1]));
    expect(numbers).toEqual(rows.map((_, index) => index));
    await list.focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']) await test.page.keyboard.press(key);
    expect(await list.getByRole('option', { selected: true }).innerText()).toContain('response.in_progress');
    await test.page.keyboard.press('End');
    expect(await list.getByRole('option', { selected: true }).innerText()).toContain('response.completed');
    await test.page.locator('pre', { hasText: '"type": "response.completed"' }).waitFor();
  });

  it('the console shows the view of an address that changes before the page is painted', async () => {
    const page = await test.page.context().newPage();
    const content = `const change = new MutationObserver(() => {
      if (document.querySelector('nav') === null) return;
      change.disconnect();
      location.hash = '#now';
    });
    change.observe(document, { childList: true, subtree: true });`;
    await page.addInitScript({ content });
    await page.goto(`${test.service.origin}/console`);
    await page.locator('button[aria-current]', { hasText: 'Now' }).waitFor();
    await page.close();
  });

  it.each(['%', 'resp/one', 'resp?limit=1', '.', '..'])(
    'the console says that there is no response with the id %j of an address or of its form',
    async (id) => {
      await test.page.goto(`${test.service.origin}/console#inspector/${id}`);
      await test.page.reload();
      await test.page.getByLabel('API key').fill(KEY);
      await test.page.getByRole('button', { name: 'Use key' }).click();
      const fault = test.page.locator('.fault', { hasText: 'not found' });
      await fault.waitFor();
      await test.page.goto(`${test.service.origin}/console#inspector`);
      await fault.waitFor({ state: 'detached' });
      await test.page.getByLabel('Id of a response').fill(id);
      await test.page.getByRole('button', { name: 'Open', exact: true }).click();
      await fault.waitFor();
    },
  );

  it('the console shows the branches of a conversation, opens each, and goes on from it', async () => {
    const { responses } = test.service.client({ apiKey: KEY });
    const first = await responses.create({ model: 'gpt-5', input: 'One' });
    const left = await responses.create({ model: 'gpt-5', input: 'Left', previous_response_id: first.id });
    const right = await responses.create({ model: 'gpt-5', input: 'Right', previous_response_id: first.id });
    await test.page.goto(`${test.service.origin}/console#inspector/${right.id}`);
    await test.page.getByLabel('API key').fill(KEY);
    await test.page.getByLabel('API key').press('Enter');
    await test.page.locator('.tree a').nth(2).waitFor();
    const links = await test.page.locator('.tree a').all();
    const addresses = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(addresses).toEqual([first.id, left.id, right.id].map((id) => `#inspector/${id}`));
    const current = test.page.locator('.tree a[aria-current]');
    expect(await current.getAttribute('href')).toBe(`#inspector/${right.id}`);
    await test.page.locator('.tree a').nth(1).press('Enter');
    await test.page.getByText('Left', { exact: true }).waitFor();
    expect(await current.getAttribute('href')).toBe(`#inspector/${left.id}`);
    await test.page.goBack();
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.page.getByRole('button', { name: 'Continue from here' }).click();
    await test.page.getByText(`The next turn continues ${right.id}.`).waitFor();
    await test.say('And on');
    await test.completed(1);
    const children = await test.service.api.with({ 'x-api-key': KEY }).idsOf(`responses/${right.id}/children`);
    expect(children).toHaveLength(1);
    // Another time, after another conversation was begun.
    await test.page.getByRole('button', { name: 'New conversation' }).click();
    await test.page.goto(`${test.page.url().split('#')[0]}#inspector/${right.id}`);
    await test.page.getByRole('button', { name: 'Continue from here' }).click();
    await test.page.getByText(`The next turn continues ${right.id}.`).waitFor();
  });

  it('the console shows an answer of brackets that are nested too deeply to be written', async () => {
    const levels = 20_000;
    const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    await test.script(deep);
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Nest');
    await test.completed(1);
    await test.page.getByRole('button', { name: 'Send' }).waitFor();
  });

  it('the console can be used with the keyboard alone', async () => {
    const { keyboard } = test.page;
    /** Moves the focus on until it is on an element with this name. */
    const tabTo = async (name: string): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        await keyboard.press('Tab');
        const names: unknown = await test.page.evaluate(
          '[document.activeElement.labels?.[0]?.innerText, document.activeElement.ariaLabel, document.activeElement.innerText]',
        );
        if ((names as (string | null)[]).some((one) => one?.trim().split('\n')[0] === name)) return;
      }
      throw new Error(`the focus never comes to ${name}`);
    };
    await tabTo('API key');
    await keyboard.type(KEY);
    await keyboard.press('Enter');
    await test.page.getByLabel('Message').waitFor();
    await tabTo('Transport');
    await keyboard.type('Web');
    await tabTo('Message');
    await keyboard.type('Hello');
    await keyboard.press('Enter');
    await test.completed(1);
    await keyboard.press('Shift+Tab');
    await test.page.getByLabel('Model').focus();
    await tabTo('As code');
    await keyboard.press('Enter');
    await test.page.getByText('new ResponsesWS(client)').waitFor();
    await test.page.getByLabel('Model').focus();
    await tabTo('Inspect');
    await keyboard.press('Enter');
    await test.page.locator('.tree a').waitFor();
    await tabTo('Continue from here');
    await keyboard.press('Enter');
    await test.page.getByText(/^The next turn continues resp_/).waitFor();
  });

  it('the console says that the service does not answer, in every view, and goes on once it does', async () => {
    await test.enter();
    const offline = test.page.getByRole('alert').filter({ hasText: 'The service does not answer.' });
    await test.page.context().setOffline(true);
    await test.say('Hello');
    await offline.waitFor();
    for (const view of ['Inspector', 'Approvals', 'Now', 'Simulator']) {
      await test.open(view);
      await offline.filter({ visible: true }).waitFor();
    }
    await test.page.context().setOffline(false);
    await test.open('Playground');
    await test.say('Hello again');
    await test.completed(1);
  });

  it('keeps only what is in sight of 10,000 events in the page, and nothing once the conversation is left', async () => {
    await test.script('word '.repeat(10_000));
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Hi');
    await test.completed(1);
    await test.page.locator('summary', { hasText: /^Events \(\d\d,\d{3}\)$/ }).click();
    expect(await test.page.locator('.event').count()).toBeLessThan(100);
    await test.page.locator('.events').press('End');
    await test.page.locator('.event', { hasText: 'response.completed' }).waitFor();
    const browser = await test.page.context().newCDPSession(test.page);
    const used = async (): Promise<number> => {
      await browser.send('HeapProfiler.collectGarbage');
      return (await browser.send('Runtime.getHeapUsage')).usedSize;
    };
    const held = await used();
    await test.page.getByRole('button', { name: 'New conversation' }).click();
    await test.page.getByText('Write a message below to begin.').waitFor();
    // 10,000 events of some 200 bytes at least.
    const left = await used();
    expect(held - left).toBeGreaterThan(1_500_000);
  });

  it.each([
    ['a phone', 360, 'light'],
    ['a tablet', 820, 'dark'],
    ['a desk', 1600, 'light'],
  ] as const)('the console fits %s, without serious faults of accessibility', async (_name, width, colorScheme) => {
    await test.page.setViewportSize({ width, height: 800 });
    await test.page.emulateMedia({ colorScheme });
    await test.enter();
    expect(await test.page.evaluate(HIDDEN_TABS)).toBe(0);
    await test.page.getByRole('button', { name: 'Two lanes' }).click();
    await test.page.getByLabel('Message').first().fill('Hello');
    await test.page.getByRole('button', { name: 'Send' }).first().click();
    await test.completed(1);
    await test.page.getByText('Options').first().click();
    await test.page.getByText(/^Events/).click();
    await test.page.locator('.event').first().waitFor();
    for (const [view, sign] of [
      ['Playground', 'As code'],
      ['Inspector', 'completed'],
      ['Approvals', 'No call waits for an approval.'],
      ['Now', 'Nothing runs or waits in the background.'],
      ['Simulator', 'Reset this space'],
    ] as const) {
      await test.open(view);
      await test.page.getByText(sign).last().waitFor();
      const overflow = await test.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([view, overflow, await test.violations()]).toEqual([view, expect.any(Number), []]);
      expect([view, Math.max(0, Number(overflow))]).toEqual([view, 0]);
    }
    await test.open('Playground');
    await test.page.getByRole('button', { name: 'Inspect', exact: true }).click();
    await test.page.locator('.tree a').waitFor();
    expect(await test.violations()).toEqual([]);
  });
});
