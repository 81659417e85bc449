import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import OpenAI from 'openai';

import { AntiphonModule, configureApp, IdGenerator } from '../src/index.js';
import { ScriptedProvider, SequentialIdGenerator } from '../src/testing/index.js';

describe('a program that embeds AntiphonModule', () => {
  let app: NestFastifyApplication;
  let client: OpenAI;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [AntiphonModule.forRoot({ providers: [ScriptedProvider] })],
    })
      .overrideProvider(IdGenerator)
      .useValue(new SequentialIdGenerator())
      .compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
    client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
  });

  afterAll(() => app.close());

  it('answers the SDK with its own provider and overridden contracts', async () => {
    app.get(ScriptedProvider).reply({ type: 'text', delta: 'Hello from the script.' });
    const response = await client.responses.create({ model: 'my-model', input: 'Hi' });
    expect(response.output_text).toBe('Hello from the script.');
    expect(response.id).toMatch(/^resp_0+[0-9a-f]{1,2}$/);
    expect(app.get(ScriptedProvider).turns[0]?.settings.model).toBe('my-model');
  });

  it('streams', async () => {
    app.get(ScriptedProvider).reply({ type: 'text', delta: 'One ' }, { type: 'text', delta: 'two' });
    const stream = client.responses.stream({ model: 'my-model', input: 'Count' });
    const final = await stream.finalResponse();
    expect(final.output_text).toBe('One two');
  });
});
