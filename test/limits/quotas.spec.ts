import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { Clock, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { ShiftedClock } from '../support/clocks.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

/** The names after `x-ratelimit-`, as OpenAI sends them. */
const NAMES = ['limit', 'remaining', 'reset'] as const;

/** The duration of a window that has begun just now. */
const JUST_BEGUN = /^(?:1m0s|[45]\d(?:\.\d{1,3})?s)$/;

function limitsIn(headers: Headers, kind: 'requests' | 'tokens'): readonly (string | null)[] {
  return NAMES.map((name) => headers.get(`x-ratelimit-${name}-${kind}`));
}

/** An answer of the model that has used so many tokens. */
function answerOf(input: number, output: number): readonly ModelEvent[] {
  return [
    { type: 'text', delta: 'Hi' },
    { type: 'usage', input, output },
    { type: 'finish', reason: 'stop' },
  ];
}

describe('requests a minute', () => {
  let clock: ShiftedClock;
  const service = useFreshService(() => {
    clock = new ShiftedClock();
    return startService({
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
      environment: { API_KEYS: 'alpha:sk-alpha,beta:sk-beta', LIMIT_REQUESTS_PER_MINUTE: 2 },
    });
  });
  const create = (stream = false): Promise<Response> =>
    service.client({ apiKey: 'sk-alpha' }).responses.create({ model: 'scripted', input: 'hi', stream }).asResponse();

  it.each([false, true])(
    'requests a minute are told in every answer, and refused beyond the limit (stream: %s)',
    async (stream) => {
      const first = await create(stream);
      await first.text();
      expect(limitsIn(first.headers, 'requests')).toEqual(['2', '1', expect.stringMatching(JUST_BEGUN)]);
      expect(limitsIn(first.headers, 'tokens')).toEqual([null, null, null]);
      const second = await create(stream);
      await second.text();
      expect(limitsIn(second.headers, 'requests')).toEqual(['2', '0', expect.stringMatching(JUST_BEGUN)]);

      const error: unknown = await create(stream).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      const { headers, code, type, message } = error as InstanceType<typeof OpenAI.RateLimitError>;
      expect({ code, type }).toEqual({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
      expect(message).toMatch(
        /^429 Rate limit reached for scripted on requests per minute: limit 2, used 2\. Please try again in \S+s\.$/,
      );
      expect(limitsIn(headers, 'requests')).toEqual(['2', '0', expect.stringMatching(JUST_BEGUN)]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(40);
      expect(service.provider.turns).toHaveLength(2);
    },
  );

  it('requests a minute are counted for each tenant', async () => {
    await create();
    await create();
    await expect(create()).rejects.toMatchObject({ status: 429 });
    const { response } = await service
      .client({ apiKey: 'sk-beta' })
      .responses.create({ model: 'scripted', input: 'hi' })
      .withResponse();
    expect(limitsIn(response.headers, 'requests')[1]).toBe('1');
  });

  it('requests a minute are refused on sockets with the same headers in their error frames', async () => {
    await using client = await SocketClient.open(service, { headers: { authorization: 'Bearer sk-alpha' } });
    await client.turn({ input: 'one' });
    await client.turn({ input: 'two' });
    expect(await client.refusal({ input: 'three' })).toMatchObject({
      type: 'error',
      status: 429,
      error: {
        code: 'rate_limit_exceeded',
        headers: {
          'retry-after': expect.stringMatching(/^\d+$/),
          'x-ratelimit-limit-requests': '2',
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-reset-requests': expect.stringMatching(JUST_BEGUN),
        },
      },
    });
  });

  it('requests a minute are told to a socket in response.metadata', async () => {
    await using client = await SocketClient.open(service, { headers: { authorization: 'Bearer sk-alpha' } });
    client.create({ model: 'scripted', input: 'one' });
    const frames = [];
    do frames.push(await client.next());
    while (frames.at(-1)?.type !== 'response.completed');
    expect(frames.find(({ type }) => type === 'response.metadata')).toMatchObject({
      headers: { 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-requests': '1' },
    });
  });

  it('requests a minute are permitted again when the window is over: the SDK tries again by itself', async () => {
    await create();
    await create();
    const statuses: number[] = [];
    const client = service.client({
      apiKey: 'sk-alpha',
      maxRetries: 2,
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        statuses.push(answer.status);
        if (answer.status === 429) clock.skip(60_000);
        return answer;
      },
    });
    // What is left of the window is how long the SDK waits.
    clock.skip(59_000);
    const { data, response } = await client.responses.create({ model: 'scripted', input: 'hi' }).withResponse();
    expect(statuses).toEqual([429, 200]);
    expect(data.status).toBe('completed');
    expect(limitsIn(response.headers, 'requests')[1]).toBe('1');
  });
});

describe('tokens a minute', () => {
  const service = useFreshService({
    providers: [ScriptedProvider],
    environment: { LIMIT_TOKENS_PER_MINUTE: 1000, LIMIT_OUTPUT_RESERVE: 0 },
  });
  /** The tokens that are left, which the next answer tells. `input` is so long that it has a known estimate. */
  const create = async (input = 'hi'): Promise<number> => {
    const { response } = await service.client().responses.create({ model: 'scripted', input }).withResponse();
    return Number(response.headers.get('x-ratelimit-remaining-tokens'));
  };

  it('tokens a minute are estimated at first, then those that were used: more', async () => {
    service.provider.reply(...answerOf(100, 500)).reply(...answerOf(1, 1));
    const before = await create();
    // The estimate of a few words with their envelope.
    expect(before).toBeGreaterThan(900);
    expect(await create()).toBe(before - 600);
  });

  it('tokens a minute are estimated at first, then those that were used: less', async () => {
    service.provider.reply(...answerOf(1, 1)).reply(...answerOf(1, 1));
    const before = await create('x'.repeat(2000));
    expect(before).toBeLessThan(500);
    expect(await create()).toBeGreaterThan(900);
  });

  it('tokens a minute are refused beyond the limit, and nothing is taken', async () => {
    service.provider.reply(...answerOf(500, 300)).reply(...answerOf(1, 1));
    await create();
    await expect(create('x'.repeat(2000))).rejects.toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/tokens per minute: limit 1000, used 800, requested 5\d\d\./),
    });
    expect(await create()).toBeGreaterThan(150);
  });

  it('tokens of a request that no window has room for are refused for good', async () => {
    const request = service.client({ maxRetries: 3 }).responses.create({ model: 'scripted', input: 'x'.repeat(8000) });
    const error: unknown = await request.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('Request too large for scripted') });
    const { headers } = error as InstanceType<typeof OpenAI.RateLimitError>;
    expect(headers.get('x-should-retry')).toBe('false');
    expect(headers.get('retry-after')).toBeNull();
  });

  it('tokens of a turn that was refused before its model are given back', async () => {
    const input = 'x'.repeat(2000);
    const continued = service
      .client()
      .responses.create({ model: 'scripted', input, previous_response_id: 'resp_unknown' });
    await expect(continued).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
    expect(await create()).toBeGreaterThan(900);
  });
});

describe('turns at once', () => {
  const service = useFreshService({
    providers: [ScriptedProvider],
    environment: { API_KEYS: 'alpha:sk-alpha,beta:sk-beta', LIMIT_CONCURRENT_TURNS: 1 },
  });

  it('turns at once are refused beyond the limit of the tenant, until one has ended', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    const alpha = service.client({ apiKey: 'sk-alpha' }).responses;
    const running = alpha.create({ model: 'scripted', input: 'one' });
    const done = running.then(({ status }) => status);
    await held.whenBegun(1);
    await expect(alpha.create({ model: 'scripted', input: 'two' })).rejects.toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('concurrent turns: limit 1'),
    });
    const other = service.client({ apiKey: 'sk-beta' }).responses.create({ model: 'scripted', input: 'other' });
    const otherDone = other.then(({ status }) => status);
    await held.whenBegun(2);
    held.letGo('one');
    held.letGo('other');
    expect([await done, await otherDone]).toEqual(['completed', 'completed']);
    expect((await alpha.create({ model: 'scripted', input: 'three' })).status).toBe('completed');
  });
});
