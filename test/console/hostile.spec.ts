// Slow: starts a browser.
import { expect, it } from '@jest/globals';

import { describeConsole } from './use-console.js';

describeConsole(
  'what a hostile model writes, in the console',
  { environment: { SIMULATOR_CONTROL: 'true' } },
  (test) => {
    it('shows what a model writes as HTML and script as text', async () => {
      await test.script(
        '**bold** <img src=x onerror="window.hit = 1"><script>window.hit = 1</script> [a](javascript:window.hit=1) ![b](https://evil.example/b.png)',
      );
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

    it.each([
      ['entities', '&lt;img src=x onerror="window.hit = 1"&gt; &#60;b&#x3e; &nope; &constructor;', '<img src=x'],
      ['quotes in quotes without end', `${'> '.repeat(5000)}deep`, 'deep'],
      ['lists in lists without end', `${'- '.repeat(3000)}deep`, 'deep'],
      ['links of other schemes', '[one](data:text/html,x) <javascript:window.hit=1> [two]\n\n[two]: vbscript:x', 'one'],
      ['a table that hides a tag', '| <script>window.hit = 1</script> |\n| - |\n| `<b>` |', '<script>'],
    ])('shows %s in what a model writes as text', async (_name, written, shown) => {
      await test.script(written);
      await test.enter();
      await test.page.getByLabel('Model').selectOption('gpt-5');
      await test.say('Hi');
      await test.completed(1);
      const answer = test.page.locator('.message.assistant');
      expect(await answer.textContent()).toContain(shown);
      expect(await answer.locator('img, script, b, [onerror], a[href]').count()).toBe(0);
      expect(await test.page.evaluate('window.hit')).toBeUndefined();
    });

    it.each([
      ['a line of 500,000 characters', 'x'.repeat(500_000)],
      ['a link without end', `https://example.com/${'a'.repeat(5000)}`],
      ['a table of 300 columns', `|${' a |'.repeat(300)}\n|${' - |'.repeat(300)}\n|${' b |'.repeat(300)}`],
      ['code without a line break', `\`\`\`\n${'y'.repeat(50_000)}\n\`\`\``],
      ['text from right to left', `\u202e${'שלום '.repeat(200)} \u2066never closed`],
      [
        'a vector image',
        '<svg onload="window.hit = 1"><a href="javascript:window.hit=1">x</a></svg> ![x](data:image/svg+xml,<svg>)',
      ],
      ['marks that stand on each other', 'a\u0301'.repeat(3000)],
    ])('keeps its width on a phone with %s by a model', async (_name, written) => {
      await test.script(written);
      await test.page.setViewportSize({ width: 360, height: 800 });
      await test.enter();
      await test.page.getByLabel('Model').selectOption('gpt-5');
      await test.say('Hi');
      await test.completed(1);
      expect(await test.page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await test.page.locator('.message.assistant').locator('svg, img, [onload]').count()).toBe(0);
      expect(await test.page.evaluate('window.hit')).toBeUndefined();
      // It is shown in the inspector as well, among others.
      await test.page.getByRole('button', { name: 'Inspect', exact: true }).click();
      await test.page.locator('.tree a').waitFor();
      expect(await test.page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    });
  },
);
