import { describe, expect, it } from '@jest/globals';

import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { type SimulatorRequests, simulatorRequests, tokensOf } from '../support/simulator-requests.js';
import { TRANSPORTS } from '../support/transports.js';

/** Numbered sentences, from one number to another. */
function tell(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => `Sentence number ${from + index} says nothing new.`).join(' ');
}

/** What OpenAI caches of a prefix of so many tokens. */
function cachedOf(prefix: number): number {
  return prefix < 1024 ? 0 : 1024 + 128 * Math.floor((prefix - 1024) / 128);
}

/** The tokens that every message has beside its text. */
const FRAMING = 3;

describeService('cached_tokens of the simulator', {}, (service) => {
  const ask = async (body: Parameters<SimulatorRequests['create']>[0]) => {
    const { id, usage } = await simulatorRequests(service).create(body);
    const input = usage?.input_tokens ?? NaN;
    return { id, input, cached: usage?.input_tokens_details.cached_tokens };
  };

  it('the prompt cache counts a repeated prompt from 1,024 tokens on, in steps of 128', async () => {
    for (const length of [50, 100, 115, 130, 400, 1000]) {
      const body = { instructions: `Case ${length}.`, input: tell(0, length) };
      const first = await ask(body);
      const again = await ask(body);
      expect([first.cached, again.cached]).toEqual([0, cachedOf(again.input)]);
    }
  });

  it('the prompt cache counts the prompt that a chain begins with', async () => {
    let last = await ask({ instructions: 'A chain.', input: tell(0, 200) });
    for (const round of [1, 2, 3]) {
      const next = await ask({
        instructions: 'A chain.',
        previous_response_id: last.id,
        input: `${round}: ${tell(0, 30)}`,
      });
      expect(next.cached).toBe(cachedOf(last.input));
      expect(next.cached).toBeGreaterThan(1024);
      last = next;
    }
  });

  it('the prompt cache counts as far as two messages are the same, to the token', async () => {
    const common = `Twins. ${tell(0, 300)}`;
    await ask({ input: `${common} One.` });
    const other = await ask({ input: `${common} Two, which is something else. ${tell(5, 300)}` });
    expect(other.cached).toBe(cachedOf(FRAMING + tokensOf(common)));
  });

  it('the prompt cache counts nothing after the first difference', async () => {
    const message = (content: string) => ({ role: 'user' as const, content });
    await ask({ input: [message('First.'), message(tell(0, 300))] });
    const { cached } = await ask({ input: [message('Other.'), message(tell(0, 300))] });
    expect(cached).toBe(0);
  });

  it('the prompt cache takes tools, instructions and images for parts of the prompt', async () => {
    const tool = (description: string) => [
      { type: 'function' as const, name: 'act', description, strict: false, parameters: null },
    ];
    const picture = (name: string) => [
      {
        role: 'user' as const,
        content: [
          { type: 'input_image' as const, detail: 'auto' as const, image_url: `https://example.com/${name}.png` },
          { type: 'input_text' as const, text: tell(0, 200) },
        ],
      },
    ];
    const body = { instructions: tell(0, 200), tools: tool('Acts.'), input: picture('a') };
    const first = await ask(body);
    const again = await ask(body);
    expect(again.cached).toBe(cachedOf(first.input));
    const otherPicture = await ask({ ...body, input: picture('b') });
    expect(otherPicture.cached).toBeGreaterThanOrEqual(1024);
    expect(otherPicture.cached).toBeLessThan(first.input - 765);
    const otherTool = await ask({ ...body, tools: tool('Does not act.') });
    expect(otherTool.cached).toBe(0);
  });

  it.each([
    ['prompt_cache_key', { prompt_cache_key: 'a' }, { prompt_cache_key: 'b' }],
    ['model', { model: 'gpt-4.1' }, { model: 'gpt-4.1-mini' }],
  ])('the prompt cache keeps prompts apart by %s', async (name, one, other) => {
    const input = `By ${name}. ${tell(0, 300)}`;
    expect((await ask({ input, ...one })).cached).toBe(0);
    expect((await ask({ input, ...other })).cached).toBe(0);
    expect((await ask({ input, ...one })).cached).toBeGreaterThan(1024);
  });

  it.each(TRANSPORTS)('the simulator shows cached_tokens over $name', async (transport) => {
    const body = { model: 'gpt-4.1', input: `Over ${transport.name}. ${tell(0, 300)}` };
    const cached = async () => {
      const { response } = await transport.run(service, body);
      return (response['usage'] as { input_tokens_details: { cached_tokens: number } }).input_tokens_details
        .cached_tokens;
    };
    expect(await cached()).toBe(0);
    expect(await cached()).toBeGreaterThan(1024);
  });
});

describe('cached_tokens of tenants', () => {
  it('the cached_tokens of a tenant are those of its own prompts', async () => {
    await using service = await startService({ environment: { API_KEYS: 'one:key-of-one,two:key-of-two' } });
    const input = tell(0, 300);
    const cached = async (apiKey: string) => {
      const { usage } = await service.client({ apiKey }).responses.create({ model: 'gpt-4.1', input });
      return usage?.input_tokens_details.cached_tokens;
    };
    expect([await cached('key-of-one'), await cached('key-of-two')]).toEqual([0, 0]);
    expect(await cached('key-of-one')).toBeGreaterThan(1024);
  });
});

describe('SIMULATOR_PROMPT_CACHE=false', () => {
  it('SIMULATOR_PROMPT_CACHE=false counts nothing', async () => {
    await using service = await startService({ environment: { SIMULATOR_PROMPT_CACHE: false } });
    const requests = simulatorRequests(service);
    const input = tell(0, 300);
    await requests.create({ input });
    const { usage } = await requests.create({ input });
    expect(usage?.input_tokens_details.cached_tokens).toBe(0);
  });
});
