// Slow: starts a browser.
import { expect, it } from '@jest/globals';

import { describeConsole, KEY } from './use-console.js';

describeConsole('the console in a browser', { environment: { SIMULATOR_CONTROL: 'true' } }, (test) => {
  /** Has the simulator write a text in its next turn. */
  async function script(text: string): Promise<void> {
    const answer = await fetch(`${test.service.origin}/simulator/scripts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', turns: [{ text }] }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
  }

  it('asks for a key, refuses a wrong one, and keeps the right one nowhere', async () => {
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

  it('goes on with one conversation over every transport, and shows the code of each turn', async () => {
    await test.enter();
    for (const [index, transport] of ['JSON', 'SSE', 'WebSocket'].entries()) {
      await test.page.getByLabel('Transport').selectOption(transport);
      await test.say(`Hello over ${transport}`);
      await test.completed(index + 1);
    }
    // For docs/console.md, and only when it is asked for.
    if (process.env['SCREENSHOTS'] === 'true') {
      await test.page.setViewportSize({ width: 1000, height: 760 });
      await test.page.screenshot({ path: 'docs/images/console.png' });
    }
    for (const summary of await test.page.getByText('As code').all()) await summary.click();
    await test.page.getByText('JavaScript').nth(2).waitFor();
    const codes = await test.page.locator('article').last().locator('figure').allTextContents();
    expect(codes).toEqual([expect.stringContaining('previous_response_id')]);
    expect(await test.page.locator('article').first().locator('figcaption').allTextContents()).toEqual([
      'curl',
      'JavaScript',
      'Python',
    ]);
    // The tree of the conversation, from its last response.
    await test.page.getByRole('button', { name: 'Inspect', exact: true }).last().click();
    await test.page.locator('.tree button').nth(2).waitFor();
    expect(await test.page.locator('.tree button').count()).toBe(3);
  });

  it('shows what a model writes as HTML and script as text', async () => {
    await script(
      '**bold** <img src=x onerror="window.hit = 1"><script>window.hit = 1</script> [a](javascript:window.hit=1) ![b](https://evil.example/b.png)',
    );
    await test.page.reload();
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Hi');
    await test.completed(1);
    const answer = test.page.locator('.message.assistant');
    await answer.locator('strong', { hasText: 'bold' }).waitFor();
    expect(await answer.locator('img, script, [onerror]').count()).toBe(0);
    expect(await answer.textContent()).toContain('<script>window.hit = 1</script>');
    const links = await Promise.all((await answer.locator('a').all()).map((link) => link.getAttribute('href')));
    expect(links).toEqual([null, 'https://evil.example/b.png']);
    expect(await test.page.evaluate('window.hit')).toBeUndefined();
  });

  it('numbers a list from where its writer begins', async () => {
    await script('3. three\n4. four\n\n| a |\n| -: |\n| 1 |');
    await test.page.reload();
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Hi');
    await test.completed(1);
    expect(await test.page.locator('.assistant ol').getAttribute('start')).toBe('3');
    expect(await test.page.locator('.assistant td').getAttribute('align')).toBe('right');
  });

  it('shows more than a page of input items', async () => {
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
    await test.page.getByRole('button', { name: 'Show more' }).click();
    await test.page.getByText('Message 150.', { exact: true }).waitFor();
    expect(await test.page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  });

  it('replays a background stream behind any event', async () => {
    await test.enter();
    await test.page.getByText('Options').click();
    await test.page.getByLabel('Background').check();
    await test.say('Hello');
    await test.completed(1);
    await test.page.getByRole('button', { name: 'Inspect', exact: true }).click();
    await test.page.getByLabel('After event').fill('3');
    await test.page.getByRole('button', { name: 'Replay' }).click();
    expect(await test.page.locator('.inspector .event').first().textContent()).toMatch(/^4response\./);
  });

  it('keeps only what is in sight of 10,000 events in the page', async () => {
    await script('word '.repeat(10_000));
    await test.page.reload();
    await test.enter();
    await test.page.getByLabel('Model').selectOption('gpt-5');
    await test.say('Hi');
    await test.completed(1);
    await test.page.locator('summary', { hasText: /^Events \(\d\d,\d{3}\)$/ }).click();
    expect(await test.page.locator('.event').count()).toBeLessThan(100);
    await test.page.locator('.events').press('End');
    await test.page.locator('.event', { hasText: 'response.completed' }).waitFor();
  });

  it.each([
    ['a phone', 360, 'light'],
    ['a tablet', 820, 'dark'],
    ['a desk', 1600, 'light'],
  ] as const)('fits %s, without serious faults of accessibility', async (_name, width, colorScheme) => {
    await test.page.setViewportSize({ width, height: 800 });
    await test.page.emulateMedia({ colorScheme });
    await test.enter();
    await test.page.getByRole('button', { name: 'Two lanes' }).click();
    await test.page.getByLabel('Message').first().fill('Hello');
    await test.page.getByRole('button', { name: 'Send' }).first().click();
    await test.completed(1);
    expect(await test.page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await test.violations()).toEqual([]);
  });
});
