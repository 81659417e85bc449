import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type OpenAI from 'openai';

import { closed } from '../support/simulator-requests.js';
import { describeWithLlamaServer } from './llama-server.js';
import { type LlamaService, startLlamaService } from './llama-service.js';

type Response = OpenAI.Responses.Response;
type Call = OpenAI.Responses.ResponseFunctionToolCall;

const SEEDS = [1, 2, 3, 4, 5, 6];

const forecast = closed({
  city: { enum: ['Lisbon', 'São Paulo', '東京'] },
  days: { type: 'integer', minimum: 1, maximum: 9 },
  hourly: { type: 'boolean' },
});
const clock = closed({ zone: { enum: ['UTC', 'CET'] } });
const tools = [
  { type: 'function' as const, name: 'get_weather', parameters: forecast as Record<string, unknown>, strict: true },
  { type: 'function' as const, name: 'get_time', parameters: clock as Record<string, unknown>, strict: false },
];
const ajv = new Ajv2020();
const fits = { get_weather: ajv.compile(forecast), get_time: ajv.compile(clock) };

describeWithLlamaServer('calls and structured output of llama.cpp', (program) => {
  let running: LlamaService;

  beforeAll(async () => {
    running = await startLlamaService(program);
  });

  afterAll(() => running.close());

  it.each(SEEDS)('llama.cpp calls a tool where it has to, and fits its schema: seed %d', async (seed) => {
    const response = await running.ask({ input: 'Go on.', tools, tool_choice: 'required', seed });
    const calls = callsOf(response);
    expect(response.status).toBe('completed');
    expect(calls).not.toEqual([]);
    expectToFit(calls);
  });

  it.each(['get_weather', 'get_time'])('llama.cpp calls the tool that is named: %s', async (name) => {
    const answers = await Promise.all(
      SEEDS.map((seed) => running.ask({ input: 'Go on.', tools, tool_choice: { type: 'function', name }, seed })),
    );
    const calls = answers.map(callsOf);
    for (const ofOne of calls) expect(new Set(ofOne.map((call) => call.name))).toEqual(new Set([name]));
    expectToFit(calls.flat());
  });

  it('llama.cpp goes on from the outputs of its calls', async () => {
    const first = await running.ask({ input: 'Go on.', tools, tool_choice: 'required', seed: 1 });
    const calls = callsOf(first);
    const input = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'Sunny.' }));
    const second = await running.ask({ previous_response_id: first.id, input, tools, tool_choice: 'none', seed: 2 });
    const own = await running.llama.chat({
      messages: [
        { role: 'user', content: 'Go on.' },
        { role: 'assistant', content: first.output_text, tool_calls: calls.map(toToolCall) },
        ...calls.map(({ call_id: id }) => ({ role: 'tool', tool_call_id: id, content: 'Sunny.' })),
      ],
      tools: tools.map(({ name, parameters }) => ({ type: 'function', function: { name, parameters } })),
      tool_choice: 'none',
      reasoning_effort: 'none',
      seed: 2,
    });
    expect(second).toMatchObject({
      status: 'completed',
      output_text: own.text,
      usage: { input_tokens: own.inputTokens, output_tokens: own.outputTokens },
    });
  });

  it.each(SEEDS)('llama.cpp writes what fits a schema: seed %d', async (seed) => {
    const schema = closed({ ...properties(forecast), mood: { enum: ['fröhlich', '🙂', null] } }) as Record<
      string,
      unknown
    >;
    const format = { type: 'json_schema' as const, name: 'forecast', schema, strict: true };
    const { status, output_text: text } = await running.ask({ input: 'Go on.', text: { format }, seed });
    const validate = ajv.compile(schema);
    expect([status, validate(JSON.parse(text)), validate.errors]).toEqual(['completed', true, null]);
  });
});

function toToolCall({ call_id: id, name, arguments: json }: Call): object {
  return { id, type: 'function', function: { name, arguments: json } };
}

function callsOf({ output }: Response): readonly Call[] {
  return output.filter((item) => item.type === 'function_call');
}

function expectToFit(calls: readonly Call[]): void {
  for (const { name, arguments: json, status, call_id: id } of calls) {
    const validate = fits[name as keyof typeof fits];
    expect([validate(JSON.parse(json)), validate.errors, status]).toEqual([true, null, 'completed']);
    expect(id).not.toBe('');
  }
  expect(new Set(calls.map(({ call_id: id }) => id)).size).toBe(calls.length);
}

function properties(schema: object): object {
  return (schema as { readonly properties: object }).properties;
}
