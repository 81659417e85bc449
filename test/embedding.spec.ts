import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import OpenAI from 'openai';

import {
  AntiphonModule,
  configureApp,
  createAdapter,
  Environment,
  IdGenerator,
  ModelProvider,
  TurnObserver,
  type TurnRecord,
} from '../src/index.js';
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
    app = module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
    client = new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
  });

  afterAll(() => app.close());

  it('a program answers the SDK with its own provider and overridden contracts', async () => {
    app.get(ScriptedProvider).reply({ type: 'text', delta: 'Hello from the script.' });
    const response = await client.responses.create({ model: 'my-model', input: 'Hi' });
    expect(response.output_text).toBe('Hello from the script.');
    expect(response.id).toMatch(/^resp_0+[0-9a-f]{1,2}$/);
    expect(app.get(ScriptedProvider).turns[0]?.settings.model).toBe('my-model');
  });

  it('a program that embeds AntiphonModule streams', async () => {
    app.get(ScriptedProvider).reply({ type: 'text', delta: 'One ' }, { type: 'text', delta: 'two' });
    const stream = client.responses.stream({ model: 'my-model', input: 'Count' });
    const final = await stream.finalResponse();
    expect(final.output_text).toBe('One two');
  });
});

@Injectable()
class SecretStore {
  readonly apiKeys = 'acme:sk-secret';
}

@Module({ providers: [SecretStore], exports: [SecretStore] })
class SecretModule {}

@Injectable()
class Meter extends TurnObserver {
  readonly records: TurnRecord[] = [];

  override settled(record: TurnRecord): void {
    this.records.push(record);
  }
}

@Injectable()
class BrokenObserver extends TurnObserver {
  override settled(): void {
    throw new Error('this observer is broken');
  }
}

describe('a program that adds to AntiphonModule', () => {
  let app: NestFastifyApplication;
  let baseURL: string;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        AntiphonModule.forRootAsync({
          imports: [SecretModule],
          inject: [SecretStore],
          useEnvironment: ({ apiKeys }: SecretStore) => ({ API_KEYS: apiKeys }),
          providers: [ScriptedProvider],
        }),
      ],
      providers: [BrokenObserver, Meter],
    }).compile();
    app = module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
    await configureApp(app);
    await app.listen(0, '127.0.0.1');
    baseURL = `${await app.getUrl()}/v1`;
  });

  afterAll(() => app.close());

  it('a program takes variables that are only known later', async () => {
    expect(app.get(Environment).API_KEYS).toEqual(['acme:sk-secret']);
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL, maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toThrow(OpenAI.AuthenticationError);
  });

  it('the observers of a program are told of every turn once, whatever other observers do', async () => {
    const client = new OpenAI({ apiKey: 'sk-secret', baseURL, maxRetries: 0 });
    const response = await client.responses.create({ model: 'my-model', input: 'Hi' });
    const records = app.get(Meter).records;
    expect(records).toEqual([
      expect.objectContaining({
        responseId: response.id,
        caller: { tenant: 'acme', requestId: response._request_id },
        model: 'my-model',
        provider: 'scripted',
        status: 'completed',
        usage: response.usage,
        errorCode: null,
      }),
    ]);
  });

  it('a program does not start with two providers of one name', async () => {
    @ModelProvider('scripted')
    class Impostor extends ScriptedProvider {}
    const module = await Test.createTestingModule({
      imports: [AntiphonModule.forRoot({ providers: [ScriptedProvider, Impostor] })],
    }).compile();
    const twice = module.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
    await configureApp(twice);
    await expect(twice.init()).rejects.toThrow("Two providers are named 'scripted'.");
    await twice.close();
  });
});
