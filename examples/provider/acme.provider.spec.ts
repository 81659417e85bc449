import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import OpenAI from 'openai';

import { AntiphonModule, configureApp, createAdapter } from 'antiphon';
import { EventCollector, providerContract, ScriptedProvider } from 'antiphon/testing';
import { AcmeProvider } from './acme.provider.js';

describe('AcmeProvider', () => {
  const acme = createServer((_, response) => response.end('Hello from Acme.'));

  beforeAll(async () => {
    await once(acme.listen(0, '127.0.0.1'), 'listening');
    process.env['ACME_URL'] = `http://127.0.0.1:${(acme.address() as AddressInfo).port}`;
  });

  afterAll(() => void acme.close());

  const subject = { options: () => ({ providers: [AcmeProvider] }), model: 'acme-1', deterministic: true };
  for (const { name, run } of providerContract(subject)) it(name, run);
});

describe('my program', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    const antiphon = AntiphonModule.forRoot({ providers: [ScriptedProvider] });
    const module = await Test.createTestingModule({ imports: [antiphon] }).compile();
    app = module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  it('receives a scripted tool call', async () => {
    app
      .get(ScriptedProvider)
      .reply(
        { type: 'text', delta: 'Let me look.' },
        { type: 'function_call', name: 'get_weather' },
        { type: 'function_call_arguments', delta: '{"city":"Paris"}' },
      );
    const client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1` });
    const stream = await client.responses.create({ model: 'any', input: 'How is the weather in Paris?', stream: true });
    const { text, calls, response } = await EventCollector.collect(stream);
    expect(text).toBe('Let me look.');
    expect(calls).toMatchObject([{ name: 'get_weather', arguments: '{"city":"Paris"}' }]);
    expect(response.status).toBe('completed');
    expect(app.get(ScriptedProvider).turns[0]?.settings.model).toBe('any');
  });
});
