import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { call, customCall, fail, refusal, simulate, type Simulation, text } from 'antiphon/testing';
import OpenAI, { RateLimitError } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { z } from 'zod';

const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const TOOLS = [
  { type: 'function' as const, function: { name: 'weather', parameters: WEATHER, strict: true } },
  { type: 'custom' as const, custom: { name: 'shell' } },
];

const ASK: Omit<ChatCompletionCreateParamsNonStreaming, 'stream'> = {
  model: 'gpt-5',
  messages: [{ role: 'user', content: 'Weather?' }],
};

let sim: Simulation;
let client: OpenAI;

beforeAll(async () => {
  sim = await simulate();
  client = new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey, maxRetries: 0 });
});
beforeEach(() => sim.reset());
afterAll(() => sim.close());

describe('the official SDK, with chat completions of simulate()', () => {
  it('the official SDK creates a completion', async () => {
    sim.answer(text('It rains.'));
    const completion = await client.chat.completions.create(ASK);
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-\w+$/) as unknown,
      object: 'chat.completion',
      model: 'gpt-5',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content: 'It rains.', refusal: null, annotations: [] },
        },
      ],
      service_tier: 'default',
    });
    const { usage } = completion;
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(sim.last).toMatchObject({ transport: 'json', model: 'gpt-5', response: { output_text: 'It rains.' } });
  });

  it('the official SDK streams the same message that it creates', async () => {
    const answer = [
      text(['Let me ', 'look.']),
      call('weather', { city: 'Oslo' }, 'call_1'),
      customCall('shell', 'date', 'call_2'),
    ];
    sim.answer(answer, answer);
    const request = { ...ASK, tools: TOOLS };
    const whole = await client.chat.completions.create(request);
    const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    stream.on('chunk', (chunk) => void chunks.push(chunk));
    const streamed = await stream.finalChatCompletion();

    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'date' } },
        ],
      },
    });
    expect(streamed.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Let me look.' } });
    expect(await stream.totalUsage()).toMatchObject({ total_tokens: whole.usage?.total_tokens });
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '', refusal: null });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.at(-2)?.choices).toMatchObject([{ delta: {}, finish_reason: 'tool_calls' }]);
    expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(Array(chunks.length - 1).fill(null));
  });

  it('the official SDK parses structured output', async () => {
    sim.answer(text('{"city":"Oslo","rain":true}'));
    const format = zodResponseFormat(z.object({ city: z.string(), rain: z.boolean() }), 'report');
    const { choices } = await client.chat.completions.parse({ ...ASK, response_format: format });
    expect(choices[0]?.message.parsed).toEqual({ city: 'Oslo', rain: true });
    expect(sim.last.request).toMatchObject({ text: { format: { type: 'json_schema', name: 'report', strict: true } } });
  });

  it('the official SDK runs tools, parallel ones too, until the model answers', async () => {
    sim.answer([call('weather', { city: 'Oslo' }), call('weather', { city: 'Bergen' })], text('Both are wet.'));
    const asked: string[] = [];
    const runner = client.chat.completions.runTools({
      ...ASK,
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            parameters: WEATHER,
            parse: (json: string) => JSON.parse(json) as { city: string },
            function: ({ city }: { city: string }) => {
              asked.push(city);
              return `rain in ${city}`;
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('Both are wet.');
    expect(asked).toEqual(['Oslo', 'Bergen']);
    expect(sim.requests).toHaveLength(2);
    expect(sim.last.request).toMatchObject({
      input: [
        { role: 'user' },
        { type: 'function_call', name: 'weather' },
        { type: 'function_call', name: 'weather' },
        { type: 'function_call_output', output: 'rain in Oslo' },
        { type: 'function_call_output', output: 'rain in Bergen' },
      ],
    });
  });

  it('the official SDK reads refusals', async () => {
    sim.answer(refusal('I will not.'), refusal('I will not.'));
    const { choices } = await client.chat.completions.create(ASK);
    expect(choices[0]).toMatchObject({ message: { content: null, refusal: 'I will not.' }, finish_reason: 'stop' });
    const streamed = await client.chat.completions.stream(ASK).finalMessage();
    expect(streamed.refusal).toBe('I will not.');
  });

  it('the official SDK gets errors as errors, before an answer and instead of one', async () => {
    sim.answer(fail({ kind: 'rate_limit', retry_after: 2 }), fail('rate_limit'));
    const refused = await client.chat.completions.create(ASK).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect((refused as RateLimitError).headers.get('retry-after')).toBe('2');
    await expect(client.chat.completions.create({ ...ASK, stream: true })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
  });
});
