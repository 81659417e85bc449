import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';

import { expect, it } from '@jest/globals';

import { HomeModule } from '../../src/http/home/index.js';
import { describeService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { startService } from '../support/service.js';

describeService(
  'GET /',
  { environment: { API_KEYS: 'tenant:key', CORS_ORIGINS: 'https://app.example' }, imports: [HomeModule] },
  (service) => {
    it('GET / answers a browser with a page whose links of this service exist', async () => {
      const answer = await fetch(service.origin, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      const page = await answer.text();
      expect(page).toContain('<h1>Antiphon ');
      for (const path of ['conversations', 'responses/compact', 'responses/input_tokens'])
        expect(page).toContain(`/v1/${path}<`);
      const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path);
      expect(links).toEqual(expect.arrayContaining(['/v1/models', '/docs', '/openapi.json', '/asyncapi.json']));
      for (const path of links) {
        const linked = await fetch(`${service.origin}${path}`, { headers: { authorization: 'Bearer key' } });
        expect(linked.status).toBe(200);
        await linked.body?.cancel();
      }
    });

    it.each([undefined, 'application/json', '*/*'])(
      'GET / answers a program that accepts %p with JSON',
      async (accept) => {
        const answer = await fetch(service.origin, { headers: accept === undefined ? {} : { accept } });
        expect(answer.headers.get('vary')?.toLowerCase().split(', ')).toEqual(['origin', 'accept']);
        expect(answer.headers.get('cache-control')).toBe('no-cache');
        expect(await answer.json()).toMatchObject({ name: 'antiphon', paths: { responses: '/v1/responses' } });
      },
    );

    it('GET / names only paths that exist', async () => {
      const { paths } = (await (await fetch(service.origin)).json()) as { paths: Readonly<Record<string, string>> };
      expect(Object.keys(paths)).toEqual(
        expect.arrayContaining([
          ...['conversations', 'compact', 'input_tokens', 'files', 'vector_stores', 'embeddings'],
          ...['messages', 'chat_completions', 'openapi', 'asyncapi', 'docs'],
        ]),
      );
      for (const path of Object.values(paths)) {
        const answer = await fetch(`${service.origin}${path}`, { headers: { authorization: 'Bearer key' } });
        // Some take POST only.
        expect([200, 405]).toContain(answer.status);
        await answer.body?.cancel();
      }
    });
  },
);

it('the home page shows a browser a request that works as it is, and only its own code', async () => {
  await using service = await startService({ imports: [HomeModule], environment: { API_KEYS: '', CONSOLE: 'false' } });
  const answer = await fetch(service.origin, { headers: { accept: 'text/html' } });
  const page = await answer.text();
  const [, url = '', body = ''] = /<pre>curl (\S+) .*-d '(.*)'<\/pre>/s.exec(page) ?? [];
  const asked = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect([url, asked.status]).toEqual([`${service.origin}/v1/responses`, 200]);
  await asked.body?.cancel();
  const [, script = ''] = /<script>(.*)<\/script>/s.exec(page) ?? [];
  const digest = createHash('sha256').update(script).digest('base64');
  expect(answer.headers.get('content-security-policy')).toContain(`script-src 'sha256-${digest}'`);
  expect(page).toMatch(/<link rel="icon" href="data:image\/svg\+xml,/);

  // As in a browser that has come through a proxy.
  const [pre, button] = [{ textContent: `curl ${url} -d x` }, {}];
  const document = { querySelector: (name: string) => (name === 'pre' ? pre : button) };
  runInNewContext(script, { document, location: { origin: 'https://proxy.example' }, navigator: {} });
  expect(pre.textContent).toBe('curl https://proxy.example/v1/responses -d x');
});

it('the home page does not let a Host header into it', async () => {
  await using service = await startService({ imports: [HomeModule], environment: { API_KEYS: 'tenant:key' } });
  const client = new RawClient(service.port);
  const { text } = await client.send({ path: '/', headers: { accept: 'text/html', host: '<b>x' } });
  client.close();
  expect(text).not.toContain('<b>');
});

it('the home page does not name the description of the API where there is none', async () => {
  await using service = await startService({
    imports: [HomeModule],
    environment: { API_DOCS: 'false', CONSOLE: 'false' },
  });
  for (const accept of ['text/html', 'application/json']) {
    const home = await (await fetch(service.origin, { headers: { accept } })).text();
    expect(home).toContain('/v1/models');
    expect(home).not.toMatch(/openapi|asyncapi|\/docs"/);
  }
});
