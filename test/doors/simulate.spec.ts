import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { call, reasoning, simulate, type Simulation, text } from '../../src/testing/index.js';

/** What an agent hears in a conversation of two requests. */
interface Heard {
  readonly called: readonly unknown[];
  readonly said: string | null;
}

const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' } } };
const QUESTION = { role: 'user' as const, content: 'How is the weather in Oslo?' };

let sim: Simulation;

beforeAll(async () => void (sim = await simulate()));
beforeEach(() => sim.reset());
afterAll(() => sim.close());

/** An agent of the Responses API: it asks, runs the tool, and asks again. */
async function viaResponses(): Promise<Heard> {
  const client = new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey });
  const tools = [{ type: 'function' as const, name: 'weather', parameters: PARAMETERS, strict: false }];
  const first = await client.responses.create({ model: 'gpt-5', input: [QUESTION], tools, store: false });
  const calls = first.output.filter((item) => item.type === 'function_call');
  const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'rain' }));
  const input = [QUESTION, ...calls, ...results];
  const second = await client.responses.create({ model: 'gpt-5', input, tools, store: false });
  return {
    called: calls.map(({ name, arguments: json }) => [name, JSON.parse(json) as unknown]),
    said: second.output_text,
  };
}

/** The same agent of Chat Completions, with streams. */
async function viaChat(): Promise<Heard> {
  const client = new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey });
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: PARAMETERS } }];
  const ask = async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<OpenAI.ChatCompletionMessage> => {
    const stream = client.chat.completions.stream({ model: 'gpt-5', messages, tools });
    return stream.finalMessage();
  };
  const first = await ask([QUESTION]);
  const calls = (first.tool_calls ?? []).filter((each) => each.type === 'function');
  const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'rain' }));
  const { content } = await ask([QUESTION, first, ...results]);
  return {
    called: calls.map((each) => [each.function.name, JSON.parse(each.function.arguments) as unknown]),
    said: content,
  };
}

/** The same agent of Anthropic's API, with streams. */
async function viaMessages(): Promise<Heard> {
  const { ANTHROPIC_BASE_URL: baseURL, ANTHROPIC_API_KEY: apiKey } = sim.env;
  const client = new Anthropic({ baseURL, apiKey, authToken: null });
  const tools = [{ name: 'weather', input_schema: PARAMETERS }];
  const ask = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> =>
    client.messages.stream({ model: 'gpt-5', max_tokens: 1000, messages, tools }).finalMessage();
  const first = await ask([QUESTION]);
  const calls = first.content.filter((block) => block.type === 'tool_use');
  const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'rain' }));
  const back = { role: 'assistant' as const, content: first.content as Anthropic.ContentBlockParam[] };
  const second = await ask([QUESTION, back, { role: 'user', content: results }]);
  const said = second.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('');
  return { called: calls.map(({ name, input }) => [name, input]), said };
}

it('simulate() has the body of an agent of Messages as it was sent, beside what the model gets', async () => {
  const { ANTHROPIC_BASE_URL: baseURL, ANTHROPIC_API_KEY: apiKey } = sim.env;
  const client = new Anthropic({ baseURL, apiKey, authToken: null });
  const body = { model: 'gpt-5', max_tokens: 9, messages: [QUESTION], stop_sequences: ['zz'] };
  sim.answer(text('Hello'));
  await client.messages.create(body);
  expect(sim.last).toMatchObject({ door: 'messages', original: body, request: { max_output_tokens: 9 } });
  expect(sim.journal).toMatch(/^1\. messages json gpt-5 /);
});

it('simulate() has the body of an agent of the Responses API once, as it was sent', async () => {
  sim.answer(text('Hello'));
  await new OpenAI({ baseURL: sim.url, apiKey: sim.apiKey }).responses.create({ model: 'gpt-5', input: 'Hi' });
  expect(sim.last).toMatchObject({ door: 'responses', original: null, request: { model: 'gpt-5', input: 'Hi' } });
  expect(sim.journal).toMatch(/^1\. json gpt-5 "Hi"/);
});

describe.each([
  ['of the Responses API', viaResponses],
  ['of Chat Completions', viaChat],
  ['of Messages', viaMessages],
])('simulate(), for an agent %s', (_, converse) => {
  it('simulate() plays one script alike, and tells what it was asked', async () => {
    sim.answer([reasoning('Oslo, so …'), call('weather', { city: 'Oslo' })], text('It rains.'));
    expect(await converse()).toEqual({ called: [['weather', { city: 'Oslo' }]], said: 'It rains.' });
    expect(sim.requests.map(({ model, status }) => [model, status])).toEqual([
      ['gpt-5', 'completed'],
      ['gpt-5', 'completed'],
    ]);
    expect(JSON.stringify(sim.last.input)).toContain('rain');
  });
});
