import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { describeWithLlamaServer, MODEL } from './llama-server.js';
import { type LlamaService, startLlamaService } from './llama-service.js';

const SEEDS = [1, 2, 3, 4, 5, 6];

describeWithLlamaServer('llama.cpp behind the service', (program) => {
  let running: LlamaService;

  beforeAll(async () => {
    running = await startLlamaService(program);
  });

  afterAll(() => running.close());

  it('llama.cpp is listed with the model that it has', async () => {
    const { data } = await running.client.models.list();
    expect(data).toContainEqual(expect.objectContaining({ id: MODEL, object: 'model', owned_by: 'llamacpp' }));
    await expect(running.client.models.retrieve(MODEL)).resolves.toMatchObject({ id: MODEL });
  });

  // The model writes control characters, bytes that are no UTF-8, and characters of up to eleven bytes.
  it.each(SEEDS)('llama.cpp has each of its words streamed, and no other: seed %d', async (seed) => {
    const events = await running.stream({ input: 'Tell me more.', seed });
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
    const own = await running.llama.chat({ messages: [user('Tell me more.')], seed, reasoning_effort: 'none' });
    expect(deltas.join('')).toBe(own.text);
    expect(deltas.length).toBeGreaterThan(1);
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: {
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: own.text }] }],
        usage: { input_tokens: own.inputTokens, output_tokens: own.outputTokens },
      },
    });
  });

  it.each(SEEDS)('llama.cpp answers in one piece as in many: seed %d', async (seed) => {
    const response = await running.ask({ instructions: 'Be brief.', input: 'Tell me more.', seed });
    const messages = [{ role: 'system', content: 'Be brief.' }, user('Tell me more.')];
    const own = await running.llama.chat({ messages, seed, reasoning_effort: 'none' });
    expect(response).toMatchObject({
      status: 'completed',
      output_text: own.text,
      usage: {
        input_tokens: own.inputTokens,
        output_tokens: own.outputTokens,
        total_tokens: own.inputTokens + own.outputTokens,
      },
    });
  });

  it('llama.cpp thinks first where it is not told otherwise', async () => {
    const own = await running.llama.chat({ messages: [user('Tell me more.')], seed: 2 });
    const response = await running.ask({ reasoning: null, input: 'Tell me more.', seed: 2 });
    expect([own.reasoning, own.text].map((text) => text !== '')).toEqual([true, true]);
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: own.reasoning }] },
      { type: 'message', content: [{ type: 'output_text', text: own.text }] },
    ]);
    expect(response.usage).toMatchObject({ input_tokens: own.inputTokens, output_tokens: own.outputTokens });
  });

  it('llama.cpp reads the whole conversation in every turn', async () => {
    const first = await running.ask({ input: 'My name is Ada.', seed: 1 });
    const second = await running.ask({ previous_response_id: first.id, input: 'What is my name?', seed: 2 });
    const third = await running.ask({ previous_response_id: second.id, input: 'And yours?', seed: 3 });
    const messages = [
      user('My name is Ada.'),
      { role: 'assistant', content: first.output_text },
      user('What is my name?'),
      { role: 'assistant', content: second.output_text },
      user('And yours?'),
    ];
    const own = await running.llama.chat({ messages, seed: 3, reasoning_effort: 'none' });
    expect(third.output_text).toBe(own.text);
    expect(third.usage?.input_tokens).toBe(own.inputTokens);
  });

  it('llama.cpp is given back what it thought before', async () => {
    const first = await running.ask({ reasoning: null, input: 'Tell me more.', seed: 2 });
    const second = await running.ask({ reasoning: null, previous_response_id: first.id, input: 'Go on.', seed: 3 });
    const own = await running.llama.chat({ messages: [user('Tell me more.')], seed: 2 });
    const said = { role: 'assistant', reasoning_content: own.reasoning, content: own.text };
    const whole = await running.llama.chat({ messages: [user('Tell me more.'), said, user('Go on.')], seed: 3 });
    expect(own.reasoning).not.toBe('');
    expect(second.usage).toMatchObject({ input_tokens: whole.inputTokens, output_tokens: whole.outputTokens });
  });

  it('llama.cpp counts what it has read before as cached', async () => {
    const first = await running.ask({ input: 'Remember this.', cache_prompt: false });
    const second = await running.ask({ previous_response_id: first.id, input: 'Go on.', cache_prompt: true });
    const cached = [first, second].map(({ usage }) => usage?.input_tokens_details.cached_tokens ?? 0);
    expect(cached[0]).toBe(0);
    expect(cached[1]).toBeGreaterThanOrEqual('Remember this.'.length);
  });

  it('llama.cpp stops where it may write no more', async () => {
    const response = await running.ask({ input: 'Tell me more.', seed: 1, max_output_tokens: 20, ignore_eos: true });
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 20 },
    });
    expect(response.output_text).not.toBe('');
  });

  it('llama.cpp keeps turns apart that run side by side', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `answer ${index}`);
    const texts = await Promise.all(
      names.map(async (name) => {
        const schema = { type: 'object', properties: { name: { const: name } }, required: ['name'] };
        const response = await running.ask({
          input: name,
          text: { format: { type: 'json_schema', name: 'only', schema } },
        });
        return response.output_text;
      }),
    );
    expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(names.map((name) => ({ name })));
  });
});

function user(content: string): object {
  return { role: 'user', content };
}
