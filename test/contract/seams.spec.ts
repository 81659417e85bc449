import { once } from 'node:events';

import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import OpenAI from 'openai';
import { WebSocket } from 'ws';

import {
  Admission,
  type AntiphonOptions,
  Clock,
  createApp,
  Environment,
  type Lease,
  MemoryBackend,
  type ModelEvent,
  ModelProviderBase,
  PassPolicy,
  StateBackend,
  TurnObserver,
  type TurnPolicy,
} from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';

/** Appends its letter to every text. */
abstract class Letter extends PassPolicy {
  protected abstract readonly letter: string;

  override begin(): TurnPolicy {
    return {
      look: (event: ModelEvent) =>
        event.type === 'text' ? { ...event, delta: `${event.delta}${this.letter}` } : event,
    };
  }
}

@Injectable()
class LetterA extends Letter {
  protected readonly letter = 'a';
}

@Injectable()
class LetterB extends Letter {
  protected readonly letter = 'b';
}

@Injectable()
class LetterOfModule extends Letter {
  protected readonly letter = 'm';
}

@Module({ providers: [LetterOfModule] })
class LetterModule {}

@Module({ providers: [{ provide: 'PAPER', useFactory: async () => 'a sheet' }], exports: ['PAPER'] })
class PaperModule {}

describe('an application with seams', () => {
  let app: NestFastifyApplication;

  const start = async (options: AntiphonOptions): Promise<OpenAI> => {
    app = await createApp({ providers: [ScriptedProvider], environment: { LOG_LEVEL: 'fatal' }, ...options });
    await app.listen(0, '127.0.0.1');
    return new OpenAI({ apiKey: 'unused', baseURL: `${await app.getUrl()}/v1`, maxRetries: 0 });
  };
  const ask = async (client: OpenAI): Promise<string> => {
    app.get(ScriptedProvider).reply({ type: 'text', delta: '-' });
    return (await client.responses.create({ model: 'm', input: 'Hi' })).output_text;
  };

  afterEach(() => app.close());

  it.each([
    [[LetterA, LetterB], '-abm'],
    [[LetterB, LetterA], '-bam'],
  ])(
    'an application with seams asks policies in the order given, then those of its modules',
    async (passPolicies, text) => {
      const client = await start({ passPolicies, imports: [LetterModule] });
      expect(await ask(client)).toBe(text);
    },
  );

  it('an application never waits for an observer, and is not disturbed by one that fails', async () => {
    const heard: string[] = [];
    const slow = new (class extends TurnObserver {
      override settled = (): Promise<void> => new Promise(() => heard.push('slow'));
    })();
    const broken = new (class extends TurnObserver {
      override begun = (): Promise<void> => Promise.reject(new Error('broken'));
      override firstEvent = (): void => {
        throw new Error('broken');
      };
    })();
    const last = new (class extends TurnObserver {
      override begun = (): void => void heard.push('last');
    })();
    const client = await start({ observers: [slow, broken, last].map((useValue) => ({ useValue })) });
    expect(await ask(client)).toBe('-');
    expect(heard).toEqual(['last', 'slow']);
  });

  it('an application with seams hides what an authenticator throws beyond refusals', async () => {
    const rejects = (error: object): AntiphonOptions => ({
      authenticator: {
        useValue: { authenticate: () => Promise.reject(Object.assign(new Error('idp 10.0.0.7'), error)) },
      },
    });
    const client = await start(rejects({ statusCode: 429 }));
    const refused = await client.models.list().then(
      () => undefined,
      (thrown: unknown) => thrown as { status: number; message: string },
    );
    expect(refused?.status).toBe(500);
    expect(refused?.message).not.toContain('10.0.0.7');
  });

  it.each<readonly [string, () => unknown]>([
    ['nothing', () => undefined],
    ['nothing later', () => Promise.resolve(null)],
    ['a number', () => 7],
    ['an empty name', () => ''],
    ['a grant without a tenant', () => ({ scopes: ['responses:write'] })],
  ])('an application with seams serves nobody whose authenticator returns %s', async (_, authenticate) => {
    const client = await start({ authenticator: { useValue: { authenticate: authenticate as never } } });
    using log = ServiceLog.begin();
    const create = client.responses.create({ model: 'm', input: 'Hi', store: false });
    await expect(create).rejects.toMatchObject({ status: 500, code: 'server_error' });
    expect(log.complaints.join('\n')).toContain('neither a tenant nor a grant with one');
    const socket = new WebSocket(`${client.baseURL.replace('http', 'ws')}/responses`);
    await expect(once(socket, 'open')).rejects.toThrow('500');
    expect(app.get(ScriptedProvider).turns).toEqual([]);
  });

  it('an application with seams forwards headers that a request cannot replace in its body', async () => {
    const client = await start({ forwardedHeaders: ['X-Team'] });
    app.get(ScriptedProvider).reply({ type: 'text', delta: '-' });
    const request = { model: 'm', input: 'Hi', client_metadata: { 'x-team': 'blue' } };
    await client.responses.create(request as never, { headers: { 'x-team': 'red', 'x-other': 'no' } });
    expect(app.get(ScriptedProvider).turns[0]?.headers).toEqual({ 'x-team': 'red' });
  });

  it('an application with seams ends while an upgrade waits for its authenticator', async () => {
    const asked = Promise.withResolvers<undefined>();
    const authenticate = (): Promise<never> => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    };
    const { baseURL } = await start({ authenticator: { useValue: { authenticate } } });
    const socket = new WebSocket(`${baseURL.replace('http', 'ws')}/responses`);
    const failed = once(socket, 'error');
    await asked.promise;
    await app.close();
    await expect(failed).resolves.toHaveLength(1);
  });

  it('an application with seams releases a lease once, with the usage of the turn, or without any for a refused one', async () => {
    const released: unknown[] = [];
    const estimates: number[] = [];
    const admission = new (class extends Admission {
      override acquire(...[, estimate]: Parameters<Admission['acquire']>): Lease {
        estimates.push(estimate.inputTokens);
        return { release: (usage) => void released.push(usage?.total_tokens ?? null) };
      }
    })();
    const client = await start({ admission: { useValue: admission } });
    const input = 'x'.repeat(4000);
    app.get(ScriptedProvider).reply({ type: 'text', delta: '-' }, { type: 'usage', input: 20, output: 3 });
    await client.responses.create({ model: 'm', input });
    const missing = client.responses.create({ model: 'm', input: 'Hi', previous_response_id: 'resp_missing' });
    await expect(missing).rejects.toThrow(OpenAI.BadRequestError);
    expect(released).toEqual([23, null]);
    expect(estimates[0]).toBeGreaterThan(1000);
    expect(estimates[0]).toBeLessThan(1100);
    expect(estimates[1]).toBeLessThan(100);
  });
});

describe('createApp', () => {
  const environment = { LOG_LEVEL: 'fatal' };

  class Unmarked extends ModelProviderBase {
    override async models(): Promise<[]> {
      return [];
    }

    override async *generate(): AsyncGenerator<ModelEvent> {
      yield { type: 'finish', reason: 'stop' };
    }
  }

  it.each<[what: string, options: AntiphonOptions, reason: string]>([
    [
      'a STATE without a backend',
      { environment: { ...environment, STATE: 'tape' }, state: { paper: { useFactory: fail } } },
      "STATE: expected one of memory, sqlite, postgres, redis, paper, but got 'tape'.",
    ],
    ['a factory that fails', { authenticator: { useFactory: fail } }, 'this factory must not be called'],
  ])('createApp refuses %s', async (_, options, reason) => {
    await expect(createApp({ environment, providers: [ScriptedProvider], ...options })).rejects.toThrow(reason);
  });

  it.each<[what: string, options: AntiphonOptions, reason: string]>([
    ['a credential to be forwarded', { forwardedHeaders: ['Cookie'] }, "The header 'cookie' cannot be forwarded"],
    [
      'a provider without a name',
      { providers: [Unmarked] },
      'The provider Unmarked must be marked with @ModelProvider',
    ],
  ])('createApp starts nothing with %s', async (_, options, reason) => {
    const app = await createApp({ environment, providers: [ScriptedProvider], ...options });
    await expect(app.init()).rejects.toThrow(reason);
    await app.close();
  });

  it('createApp refuses a class that is an option and a provider of a module', async () => {
    const app = await createApp({
      environment,
      providers: [ScriptedProvider],
      passPolicies: [LetterOfModule],
      imports: [LetterModule],
    });
    await expect(app.init()).rejects.toThrow('Pass { useExisting: LetterOfModule } as the option.');
    await app.close();
  });

  it('createApp makes a backend after what it injects, which may come later or not at all', async () => {
    const received: unknown[] = [];
    const state = {
      paper: {
        inject: ['PAPER', { token: 'INK', optional: true }, Clock],
        useFactory: (paper: string, ink: unknown, clock: Clock) => {
          received.push(paper, ink, clock.constructor);
          return new MemoryBackend(new Environment(), clock);
        },
      },
    };
    const app = await createApp({
      environment: { ...environment, STATE: 'paper' },
      providers: [ScriptedProvider],
      imports: [PaperModule],
      clock: { useFactory: async () => new FakeClock() },
      state,
    });
    expect(received).toEqual(['a sheet', undefined, FakeClock]);
    await app.close();
  });

  it('createApp makes the selected backend only', async () => {
    const state = { paper: { useFactory: fail } };
    const app = await createApp({ environment, providers: [ScriptedProvider], state });
    expect(app.get(StateBackend, { strict: false })).toBeInstanceOf(StateBackend);
    await app.close();
  });
});

function fail(): never {
  throw new Error('this factory must not be called');
}
