import { describe, expect, it } from '@jest/globals';

import { ConsoleFiles } from '../../src/console/index.js';
import { HomeModule } from '../../src/http/home/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { BuiltConsole } from './use-console.js';

const files = new BuiltConsole();
const service = useService({
  environment: { API_KEYS: 'red:x', CONSOLE: 'true' },
  imports: [HomeModule],
  overrides: [[ConsoleFiles, files]],
});

const headers = { accept: 'text/html' };

describe('the page of the console', () => {
  it('the page of the console has at most 150 kB, and no code or style in itself', async () => {
    const [code, style] = await Promise.all(['main.js', 'main.css'].map((name) => files.read(name)));
    if (code === undefined || style === undefined) throw new Error('the build made no page');
    expect(code.content.length + style.content.length).toBeLessThanOrEqual(150_000);
    for (const path of ['/', '/console', '/console/']) {
      const answer = await fetch(`${service.origin}${path}`, { headers });
      const page = await answer.text();
      expect(page).not.toMatch(/<style|style=|<script(?! type="module" src=")/);
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      const [, script = ''] = /src="([^"]*)"/.exec(page) ?? [];
      const loaded = await fetch(new URL(script, answer.url));
      expect([loaded.status, await loaded.text()]).toEqual([200, code.content.toString()]);
    }
  });

  it.each([
    ['with keys', {}, 404],
    ['with CONSOLE=false', { API_KEYS: '', CONSOLE: 'false' }, 404],
    ['without keys', { API_KEYS: '' }, 200],
  ])('the page of the console is there only where it is wanted: %s', async (_name, environment, status) => {
    await using other = await startService({
      environment: { API_KEYS: 'red:x', ...environment },
      imports: [HomeModule],
    });
    const answer = await fetch(`${other.origin}/console`);
    await answer.body?.cancel();
    expect(answer.status).toBe(status);
  });
});
