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
  ])('ends where the window does: %s', async (_, input) => {
    await expect(ask({ input })).resolves.toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
    expect(Math.max(...provider().counts)).toBeGreaterThan(1000);
    expect(Math.max(...provider().counts)).toBeLessThan(5000);
  });

  it('counts no more than fits when it drops the oldest items', async () => {
    const texts = Array.from({ length: 3000 }, (_, index) => `${index} ${LONG.slice(0, 360)}`);
    const answer = await ask({ input: texts.map(user), truncation: 'auto' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(provider().turns[0]?.context.at(-1)?.content).toMatchObject([{ text: texts.at(-1) }]);
    expect(provider().turns[0]?.context.length).toBeGreaterThan(4);
    expect(provider().counts.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThan(5000);
  });

  it('ends when the client leaves', async () => {
    provider().window = 1_000_000;
    const client = new AbortController();
    const answer = ask({ input: LONG }, client.signal);
    await provider().begun.promise;
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(provider().first.promise).resolves.toMatchObject({ name: 'TurnStoppedError', reason: 'disconnect' });
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'disconnected' }]);
  });

  it('ends when the client leaves after a model that reported no usage', async () => {
    provider().window = 100_000_000;
    const client = new AbortController();
    const answer = ask({ input: LONG }, client.signal);
    await provider().begun.promise;
    expect(provider().turns).toHaveLength(1);
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(provider().first.promise).resolves.toMatchObject({ name: 'TurnStoppedError', reason: 'disconnect' });
  });
});
