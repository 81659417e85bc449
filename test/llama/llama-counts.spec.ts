import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { describeWithLlamaServer, MODEL } from './llama-server.js';
import { type LlamaService, startLlamaService } from './llama-service.js';

type Request = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'truncation'>;

const LOOK: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'look',
  description: 'Looks around.',
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  strict: false,
};

const CALLS: OpenAI.Responses.ResponseInput = [
  { role: 'user', content: 'Look.' },
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"the sea"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'Waves.' },
  { role: 'assistant', content: 'Waves, naïve ones 🌊.' },
  { role: 'user', content: 'And?' },
];

describeWithLlamaServer('counts of llama.cpp behind the service', (program) => {
  let running: LlamaService;

  beforeAll(async () => {
    running = await startLlamaService(program);
  });

  afterAll(() => running.close());

  it.each<[name: string, request: Request]>([
    ['a text', { input: 'Tell me more.' }],
    ['instructions', { input: 'Tell me more.', instructions: 'Be brief, naïve and 👍.' }],
    ['tools', { input: 'Look around.', tools: [LOOK] }],
    ['calls', { input: CALLS, tools: [LOOK], instructions: 'Be brief.' }],
    ['a schema', { input: 'JSON!', text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } } }],
    ['reasoning', { input: 'Think.', reasoning: { effort: 'high' } }],
  ])('counts of llama.cpp are the usage of the same request: %s', async (_, members) => {
    const request: Request & { model: string } = { model: MODEL, reasoning: { effort: 'none' }, ...members };
    const counted = await running.client.responses.inputTokens.count(request);
    const { usage } = await running.client.responses.create({ ...request, max_output_tokens: 16 });
    expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: usage?.input_tokens });
  });

  it('counts of llama.cpp follow a chain', async () => {
    const first = await running.ask({ input: 'Tell me more.', seed: 1, max_output_tokens: 16 });
    const next = {
      model: MODEL,
      input: 'And then?',
      previous_response_id: first.id,
      reasoning: { effort: 'none' },
    } as const;
    const counted = await running.client.responses.inputTokens.count(next);
    const { usage } = await running.client.responses.create({ ...next, max_output_tokens: 16 });
    expect(counted.input_tokens).toBe(usage?.input_tokens);
  });

  it('counts of llama.cpp go beyond the window', async () => {
    const counted = await running.client.responses.inputTokens.count({ model: MODEL, input: 'word '.repeat(20_000) });
    expect(counted.input_tokens).toBeGreaterThan(20_000);
  });
});
