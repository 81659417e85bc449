import { describe, expect, it } from '@jest/globals';

import { simulatedTurn } from '../../../test/support/simulated-turn.js';
import type { Item } from '../../protocol/index.js';
import { SystemClock } from '../../time/index.js';
import { SimulatorOptions, SimulatorProvider } from '../index.js';

const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false };
const search = { type: 'function', name: 'search', parameters: null, strict: false };
const shell = { type: 'custom', name: 'shell' };
const crm = {
  type: 'namespace',
  name: 'crm',
  description: '',
  tools: [
    { type: 'function', name: 'find' },
    { type: 'custom', name: 'note' },
  ],
};
const hosted = { type: 'web_search' };

const user = (content: unknown): Item => ({ type: 'message', id: 'msg_1', role: 'user', content });
const assistant: Item = { type: 'message', id: 'msg_2', role: 'assistant', content: 'Hm.' };
const developer: Item = { type: 'message', id: 'msg_3', role: 'developer', content: 'Be brief.' };
const call: Item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_weather', arguments: '{}' };
const output: Item = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'Sunny' };
const customOutput: Item = { type: 'custom_tool_call_output', id: 'ctco_1', call_id: 'call_2', output: 'ok' };
const added = (...tools: object[]): Item => ({ type: 'additional_tools', id: 'item_1', role: 'developer', tools });

const QUESTION = [user('What now?')];
const ANSWERED = [...QUESTION, call, output];
const TEXT = { type: 'text' };

/** The called tools, or TEXT. */
interface Case {
  readonly name: string;
  readonly settings: object;
  readonly context?: readonly Item[];
  readonly expected: object;
}

const CASES: readonly Case[] = [
  {
    name: 'auto, a question',
    settings: { tools: [weather] },
    expected: { type: 'function_call', name: 'get_weather' },
  },
  { name: 'auto, a custom tool', settings: { tools: [shell] }, expected: { type: 'custom_tool_call', name: 'shell' } },
  { name: 'auto, after an output', settings: { tools: [weather] }, context: ANSWERED, expected: TEXT },
  {
    name: 'auto, after a custom output',
    settings: { tools: [shell] },
    context: [...QUESTION, customOutput],
    expected: TEXT,
  },
  { name: 'auto, after an answer', settings: { tools: [weather] }, context: [...QUESTION, assistant], expected: TEXT },
  { name: 'auto, without a user message', settings: { tools: [weather] }, context: [developer], expected: TEXT },
  { name: 'auto, no context', settings: { tools: [weather] }, context: [], expected: TEXT },
  {
    name: 'auto, the next question',
    settings: { tools: [weather] },
    context: [...ANSWERED, assistant, ...QUESTION],
    expected: { name: 'get_weather' },
  },
  {
    name: 'auto, instructions last',
    settings: { tools: [weather] },
    context: [...QUESTION, developer],
    expected: { name: 'get_weather' },
  },
  { name: 'auto, hosted tools only', settings: { tools: [hosted] }, expected: TEXT },
  { name: 'auto, no tools', settings: {}, expected: TEXT },
  { name: 'none', settings: { tools: [weather], tool_choice: 'none' }, expected: TEXT },
  { name: 'required', settings: { tools: [search], tool_choice: 'required' }, expected: { name: 'search' } },
  {
    name: 'required, after an output',
    settings: { tools: [search], tool_choice: 'required' },
    context: ANSWERED,
    expected: { name: 'search' },
  },
  { name: 'required, hosted tools only', settings: { tools: [hosted], tool_choice: 'required' }, expected: TEXT },
  {
    name: 'required, too often',
    settings: { tools: [search], tool_choice: 'required' },
    context: [...QUESTION, ...Array.from({ length: 25 }, () => [call, output]).flat()],
    expected: TEXT,
  },
  {
    name: 'required, often but in different turns',
    settings: { tools: [search], tool_choice: 'required' },
    context: [...Array.from({ length: 25 }, () => [call, output]).flat(), ...QUESTION],
    expected: { name: 'search' },
  },
  {
    name: 'one function',
    settings: { tools: [weather, search, shell], tool_choice: { type: 'function', name: 'search' } },
    expected: { type: 'function_call', name: 'search' },
  },
  {
    name: 'one function, after an output',
    settings: { tools: [weather, search], tool_choice: { type: 'function', name: 'get_weather' } },
    context: ANSWERED,
    expected: { type: 'function_call', name: 'get_weather' },
  },
  {
    name: 'one custom tool',
    settings: { tools: [weather, shell], tool_choice: { type: 'custom', name: 'shell' } },
    expected: { type: 'custom_tool_call', name: 'shell' },
  },
  { name: 'a hosted tool', settings: { tools: [weather, hosted], tool_choice: hosted }, expected: TEXT },
  {
    name: 'allowed tools',
    settings: { tools: [weather, search, shell], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [shell] } },
    expected: { type: 'custom_tool_call', name: 'shell' },
  },
  {
    name: 'allowed tools, after an output',
    settings: { tools: [weather, search], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [search] } },
    context: ANSWERED,
    expected: TEXT,
  },
  {
    name: 'allowed tools, required',
    settings: { tools: [weather, search], tool_choice: { type: 'allowed_tools', mode: 'required', tools: [search] } },
    context: ANSWERED,
    expected: { name: 'search' },
  },
  {
    name: 'allowed tools of a namespace',
    settings: {
      tools: [weather, { ...crm, tools: [shell] }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'crm' }] },
    },
    expected: { type: 'custom_tool_call', name: 'shell', namespace: 'crm' },
  },
  {
    name: 'a function of a namespace',
    settings: { tools: [crm], tool_choice: { type: 'function', name: 'find' } },
    expected: { type: 'function_call', name: 'find', namespace: 'crm' },
  },
  {
    name: 'a custom tool of a namespace',
    settings: { tools: [crm], tool_choice: { type: 'custom', name: 'note' } },
    expected: { type: 'custom_tool_call', name: 'note', namespace: 'crm' },
  },
  {
    name: 'tools in the context',
    settings: {},
    context: [added(weather), ...QUESTION],
    expected: { name: 'get_weather' },
  },
  {
    name: 'tools behind the question',
    settings: {},
    context: [...QUESTION, added(shell)],
    expected: { name: 'shell' },
  },
  {
    name: 'tools that are none',
    settings: { tools: [null, { type: 'function' }] },
    context: [added(), { ...added(), tools: null }, ...QUESTION],
    expected: TEXT,
  },
  {
    name: 'a tool by its name',
    settings: { tools: [weather, search, shell] },
    context: [user([{ type: 'input_text', text: 'Please use shell, not the weather.' }])],
    expected: { type: 'custom_tool_call', name: 'shell' },
  },
];

describe('the choice of tools', () => {
  it.each(CASES)('$name', async ({ settings, context, expected }) => {
    for (let seed = 1; seed <= 5; seed++) {
      const { first, input } = await run(settings, context, seed);
      expect(first).toMatchObject(expected);
      expect('namespace' in first).toBe('namespace' in expected);
      if (first.type === 'function_call') expect(JSON.parse(input)).toEqual({});
      if (first.type === 'custom_tool_call') expect(input).toMatch(/^[A-Z][a-z ,.A-Z]+$/);
    }
  });

  it('the choice of tools chooses among several tools, each seed its own', async () => {
    const tools = [weather, search, shell];
    const chosen = await Promise.all(Array.from({ length: 30 }, (_, seed) => run({ tools }, QUESTION, seed)));
    expect(new Set(chosen.map(({ first }) => first.name))).toEqual(new Set(['get_weather', 'search', 'shell']));
  });

  it('the choice of tools writes a custom input that follows a regular expression', async () => {
    const format = { type: 'grammar', syntax: 'regex', definition: 'ORDER-\\d{3}(,\\d{3})?' };
    const { input } = await run({ tools: [{ ...shell, format }] }, QUESTION, 1);
    expect(input).toMatch(/^ORDER-\d{3}(,\d{3})?$/);
  });

  it.each([
    { type: 'function', name: 'shell' },
    { type: 'custom', name: 'missing' },
  ])('the choice of tools refuses a choice that is not among the tools: %j', async (choice) => {
    await expect(run({ tools: [shell], tool_choice: choice }, QUESTION, 1)).rejects.toMatchObject({
      name: 'ModelError',
      code: 'invalid_value',
      options: { status: 400, param: 'tool_choice' },
    });
  });
});

async function run(
  over: object,
  context: readonly Item[] = QUESTION,
  seed: number,
): Promise<{ readonly first: { readonly type: string; readonly name?: string }; readonly input: string }> {
  const provider = new SimulatorProvider(new SimulatorOptions({ seed }), new SystemClock());
  const turn = simulatedTurn(over, context);
  const events = [];
  for await (const batch of provider.generate(turn, { signal: new AbortController().signal })) events.push(...batch);
  const [first, ...rest] = events;
  if (first === undefined) throw new Error('There were no events.');
  return { first, input: rest.map((event) => ('delta' in event ? event.delta : '')).join('') };
}
