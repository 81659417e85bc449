import { runInNewContext } from 'node:vm';

import { afterEach, describe, expect, it } from '@jest/globals';
import { Module, RequestMethod } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import { AntiphonModule, ApiDocsModule, configureApp, createAdapter } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { DESCRIBED, type Json, type OpenApi, readDocument } from './documents.js';

const KEYS = { API_KEYS: 'tenant:key' };

describeService('the page of the API', { ...DESCRIBED, environment: KEYS }, (service) => {
  it.each(['/docs', '/docs/'])(
    'the page of the API has files of this service only, at %s, without a key',
    async (path) => {
      const page = await fetch(`${service.origin}${path}`);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'");
      expect(policy).not.toContain('unsafe');
      const html = await page.text();
      expect(html).not.toMatch(/<script>|<style|\son\w+=|\sstyle=/);
      const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => new URL(file, page.url).href);
      expect(files).toHaveLength(5);
      for (const file of files) {
        expect(file).toContain(`${service.origin}/docs/`);
        const answer = await fetch(file);
        expect([file, answer.status, (await answer.arrayBuffer()).byteLength > 100]).toEqual([file, 200, true]);
      }
    },
  );

  it('the page of the API shows the socket beside the API', async () => {
    const load: (() => Promise<void>)[] = [];
    const shown: Json[] = [];
    const script = await (await fetch(`${service.origin}/docs/start.js`)).text();
    runInNewContext(script, {
      URL,
      fetch,
      document: { currentScript: { src: `${service.origin}/docs/start.js` } },
      window: { addEventListener: (_: string, listener: () => Promise<void>) => load.push(listener) },
      SwaggerUIBundle: (options: Json) => shown.push(JSON.parse(JSON.stringify(options)) as Json),
    });
    for (const listener of load) await listener();
    expect(shown).toMatchObject([
      { url: `${service.origin}/openapi.json`, dom_id: '#page' },
      { spec: { paths: { '/v1/responses': { get: { tags: ['WebSocket'] } } } }, dom_id: '#socket' },
    ]);
    const socket = JSON.stringify(shown[1]);
    for (const part of ['WebSocket mode of the Responses API', '`response.create`', '`response.output_text.delta`']) {
      expect(socket).toContain(part);
    }
    const { schemas } = (shown[1]?.spec as OpenApi).components;
    for (const [, name = ''] of socket.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(schemas).toHaveProperty(name);
  });

  it('the page of the API lists responses first', async () => {
    const { tags } = await readDocument<{ readonly tags: readonly { readonly name: string }[] }>(service.origin);
    const names = tags.map(({ name }) => name);
    expect(names).toEqual(['Responses', ...names.slice(1).toSorted()]);
  });

  it.each(['/docs/none.js', '/docs/..%2fpackage.json', '/docs/index.html'])(
    'the page of the API has no %s',
    async (path) => {
      expect((await fetch(`${service.origin}${path}`)).status).toBe(404);
    },
  );

  it('the documents of the API need no key', async () => {
    for (const path of ['/openapi.json', '/asyncapi.json']) {
      const answer = await fetch(`${service.origin}${path}`);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(await answer.text()).toBe(await (await fetch(`${service.origin}${path}`)).text());
    }
  });
});

@Module({ imports: [AntiphonModule.forRoot({ providers: [ScriptedProvider], environment: KEYS }), ApiDocsModule] })
class ProgramModule {}

let app: NestFastifyApplication | undefined;
afterEach(() => app?.close());

/** Starts a program with a global prefix; answers with its address. */
async function start(...prefix: Parameters<NestFastifyApplication['setGlobalPrefix']>): Promise<string> {
  app = await NestFactory.create<NestFastifyApplication>(ProgramModule, createAdapter(), { logger: false });
  app.setGlobalPrefix(...prefix);
  await configureApp(app);
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

describe('a program with a global prefix', () => {
  it('a program with a global prefix has the documents and the servers below it', async () => {
    const origin = await start('api');
    const { servers } = await readDocument(origin, '/api/openapi.json');
    expect(servers).toEqual([{ url: '/api/v1' }, { url: '/api/openai/v1' }]);
    const socket = await readDocument<object>(origin, '/api/asyncapi.json');
    expect(socket).toMatchObject({ channels: { responses: { address: '/api/v1/responses' } } });
    const [, script = ''] = /src="([^"]+start\.js)"/.exec(await (await fetch(`${origin}/api/docs`)).text()) ?? [];
    expect((await fetch(new URL(script, `${origin}/api/docs`))).status).toBe(200);
  });

  it('a program with a global prefix may exclude the API from it', async () => {
    const origin = await start('api', { exclude: [{ path: '{*api}', method: RequestMethod.ALL }] });
    expect((await readDocument(origin)).servers).toEqual([{ url: '/v1' }, { url: '/openai/v1' }]);
  });
});
