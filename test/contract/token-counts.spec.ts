import { describe, expect, it } from '@jest/globals';

import { type CountOptions, type Item, ModelProvider, type ModelInfo, type Turn } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { postJson } from '../support/sse.js';
import { startService } from '../support/service.js';

/** Two hundred thousand tokens. */
const LONG = 'The early river follows the garden. '.repeat(30_000);

/** Remembers what was counted for it. */
@ModelProvider('counting')
class CountingProvider extends ScriptedProvider {
  window = 1000;
  readonly begun = Promise.withResolvers<undefined>();
  readonly counts: number[] = [];
  /** What the first count came to, or what it was rejected with. */
  readonly first = Promise.withResolvers<unknown>();

  override find(model: string): ModelInfo {
    return { ...super.find(model), contextWindow: this.window };
  }

  override async countTokens(turn: Turn, options?: CountOptions): Promise<number> {
    this.begun.resolve(undefined);
    const counted = super.countTokens(turn, options);
    counted.then(this.first.resolve, this.first.resolve);
    return counted;
  }

  override async countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    const tokens = await super.countContextTokens(items, options);
    this.counts.push(tokens);
    return tokens;
  }
}

describe('counting tokens', () => {
  let observer: RecordingObserver;
  const service = useFreshService(async () => {
    observer = new RecordingObserver();
    return startService({ providers: [CountingProvider], imports: [observer.asModule()] });
  });
  const provider = (): CountingProvider => service.app.get(CountingProvider);
  const ask = (body: object, signal?: AbortSignal): ReturnType<typeof postJson> =>
    postJson(`${service.baseURL}/responses`, { model: 'm', ...body }, signal === undefined ? {} : { signal });
  const user = (content: string): object => ({ role: 'user', content });

  it.each([
    ['one long text', LONG],
    ['many short ones', Array.from({ length: 3000 }, () => user(LONG.slice(0, 360)))],
  ])('a count of tokens ends where the window does: %s', async (_, input) => {
    await expect(ask({ input })).resolves.toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
    expect(Math.max(...provider().counts)).toBeGreaterThan(1000);
    expect(Math.max(...provider().counts)).toBeLessThan(5000);
  });

  it('a count of tokens counts no more than fits when it drops the oldest items', async () => {
    const texts = Array.from({ length: 3000 }, (_, index) => `${index} ${LONG.slice(0, 360)}`);
    const answer = await ask({ input: texts.map(user), truncation: 'auto' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(provider().turns[0]?.context.at(-1)?.content).toMatchObject([{ text: texts.at(-1) }]);
    expect(provider().turns[0]?.context.length).toBeGreaterThan(4);
    expect(provider().counts.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThan(5000);
  });

  it('a count of tokens ends when the client leaves', async () => {
    provider().window = 1_000_000;
    const client = new AbortController();
    const answer = ask({ input: LONG }, client.signal);
    await provider().begun.promise;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(provider().first.promise).resolves.toMatchObject({ name: 'TurnStoppedError', reason: 'disconnect' });
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'disconnected' }]);
  });

  it('a count of tokens ends when the client leaves after a model that reported no usage', async () => {
    provider().window = 100_000_000;
    const client = new AbortController();
    const answer = ask({ input: LONG }, client.signal);
    await provider().begun.promise;
    expect(provider().turns).toHaveLength(1);
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(provider().first.promise).resolves.toMatchObject({ name: 'TurnStoppedError', reason: 'disconnect' });
  });

  describe('of a request that is not run', () => {
    const count = (body: object, signal?: AbortSignal): ReturnType<typeof postJson> =>
      postJson(
        `${service.baseURL}/responses/input_tokens`,
        { model: 'm', ...body },
        signal === undefined ? {} : { signal },
      );

    it('a count of a request that is not run goes beyond the window', async () => {
      const counted = await count({ input: LONG });
      expect(counted).toMatchObject({ status: 200, body: { object: 'response.input_tokens' } });
      expect((counted.body as { readonly input_tokens: number }).input_tokens).toBeGreaterThan(100_000);
      expect(provider().turns).toHaveLength(0);
    });

    it('the count of a request that is not run has what truncation leaves, or everything where nothing fits', async () => {
      const input = Array.from({ length: 300 }, (_, index) => user(`${index} ${LONG.slice(0, 360)}`));
      const { body } = await ask({ input, truncation: 'auto' });
      const { usage } = body as { readonly usage: { readonly input_tokens: number } };
      expect(usage.input_tokens).toBeLessThan(1000);
      await expect(count({ input, truncation: 'auto' })).resolves.toMatchObject({
        body: { input_tokens: usage.input_tokens },
      });
      const { body: whole } = await count({ input: LONG });
      expect((await count({ input: LONG, truncation: 'auto' })).body).toEqual(whole);
    });

    it('the count of a request is what the window is compared with, and the usage', async () => {
      const body = { input: [user(LONG.slice(0, 5000)), user('And?')], instructions: 'Be brief.' };
      const { input_tokens: counted } = (await count(body)).body as { readonly input_tokens: number };
      provider().window = counted;
      await expect(ask(body)).resolves.toMatchObject({ status: 200, body: { usage: { input_tokens: counted } } });
      provider().window = counted - 1;
      await expect(ask(body)).resolves.toMatchObject({ status: 400 });
    });

    it('a count of a request that is not run lets other requests in', async () => {
      let hasCounted = false;
      const counting = count({ input: LONG.repeat(4) }).finally(() => (hasCounted = true));
      await provider().begun.promise;
      const models = await fetch(`${service.baseURL}/models`);
      expect([models.status, hasCounted]).toEqual([200, false]);
      await expect(counting).resolves.toMatchObject({ status: 200 });
    });

    it('a count of a request that is not run ends when the client leaves', async () => {
      const client = new AbortController();
      const answer = count({ input: LONG }, client.signal);
      await provider().begun.promise;
      client.abort();
      await expect(answer).rejects.toThrow('aborted');
      await expect(provider().first.promise).resolves.toMatchObject({ name: 'TurnStoppedError', reason: 'disconnect' });
    });
  });
});

describe('too many counts at once', () => {
  const service = useFreshService({ providers: [CountingProvider], environment: { MAX_RUNNING_TURNS: 1 } });
  const count = (input: string): ReturnType<typeof postJson> =>
    postJson(`${service.baseURL}/responses/input_tokens`, { model: 'm', input });

  it('too many counts at once are refused, and let turns run', async () => {
    const first = count(LONG.repeat(4));
    await service.app.get(CountingProvider).begun.promise;
    await expect(count('Hi')).resolves.toMatchObject({
      status: 503,
      body: { error: { code: 'server_is_overloaded' } },
    });
    const turn = await postJson(`${service.baseURL}/responses`, { model: 'm', input: 'Hi' });
    expect([turn.status, (await first).status]).toEqual([200, 200]);
    await expect(count('Hi')).resolves.toMatchObject({ status: 200 });
  });
});
