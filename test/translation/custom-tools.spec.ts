import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readCalls } from './call-groups.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { user } from '../support/translation/user-items.js';
import { JSON_TRANSPORT } from '../support/transports.js';

const EXEC = { type: 'custom', name: 'exec', description: 'Runs JavaScript.' };
const TEXT = { ...EXEC, format: { type: 'text' } };
const GRAMMAR = 'start: "a" | "b"';
const LARK = { ...EXEC, format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR } };
const INPUT = 'console.log("hi"); // 你好\n\treturn \\ 👍;';

const ctc = expect.stringMatching(/^ctc_/) as unknown;
const item = (input: string, status = 'completed'): object => ({
  id: ctc,
  type: 'custom_tool_call',
  status,
  call_id: 'call_1',
  name: 'exec',
  input,
});

/** JSON text in pieces of so many letters. */
const pieces = (json: string, length: number): readonly string[] =>
  json.match(new RegExp(`[^]{1,${length}}`, 'gu')) ?? [];

describe('custom tools for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  it.each([EXEC, TEXT])('custom tools are functions of one text', async (tool) => {
    expect(await translation.functions({ tools: [tool] })).toEqual([
      {
        name: 'exec',
        description: 'Runs JavaScript.',
        parameters: {
          type: 'object',
          properties: { input: { type: 'string', description: expect.any(String) as unknown } },
          required: ['input'],
          additionalProperties: false,
        },
      },
    ]);
  });

  it.each(['lark', 'regex'])('custom tools tell the model of their grammar (%s)', async (syntax) => {
    const tool = { ...EXEC, format: { type: 'grammar', syntax, definition: GRAMMAR } };
    const [offered] = await translation.functions({ tools: [tool] });
    expect(offered?.['description']).toMatch(/^Runs JavaScript\.\n/);
    expect(offered?.['description']).toContain(syntax);
    expect(offered?.['description']).toContain(GRAMMAR);
  });

  it.each([1, 2, 7, 1000])(
    'custom tools are called with the text alone, as it grows (pieces of %d)',
    async (length) => {
      const json = JSON.stringify({ input: INPUT });
      const toolCalls = [{ name: 'exec', arguments: pieces(json, length) }];
      const { response, events = [] } = await translation.turn({ tools: [LARK] }, { toolCalls });
      expect(itemsOf(response)).toEqual([item(INPUT)]);
      const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
      expect(deltas.map(({ delta }) => delta).join('')).toBe(INPUT);
      expect(deltas.length).toBeGreaterThan(length === 1000 ? 0 : 2);
      const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done');
      expect(done).toMatchObject({ input: INPUT });
    },
  );

  it('custom tools are called the same without a stream', async () => {
    const toolCalls = [{ name: 'exec', arguments: JSON.stringify({ input: INPUT }) }];
    const { response } = await translation.run(JSON_TRANSPORT, { tools: [TEXT] }, { toolCalls });
    expect(itemsOf(response)).toEqual([item(INPUT)]);
  });

  it('calls of custom tools come back as the call that the model made', async () => {
    const json = JSON.stringify({ input: INPUT });
    const { response } = await translation.turn({ tools: [TEXT] }, { toolCalls: [{ name: 'exec', arguments: json }] });
    const output = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'hi' };
    const made = { id: 'call_1', name: 'exec', arguments: json, output: 'hi' };
    const replayed = [user('Go on.'), ...itemsOf(response), output];
    expect(readCalls(await translation.messages({ tools: [TEXT], input: replayed }))).toEqual([made]);
    const chained = { tools: [TEXT], previous_response_id: response.id, input: [output] };
    expect(readCalls(await translation.messages(chained))).toEqual([made]);
  });

  it.each<[string, string, string]>([
    ['bare text', '*** Begin Patch', '*** Begin Patch'],
    ['a JSON text', '"print(1)"', 'print(1)'],
    ['an object with more in it', '{"why":"because","input":"print(1)"}', 'print(1)'],
    ['an object with its text under another name', '{"code":"print(1)"}', 'print(1)'],
    ['an object with other members', '{"code":"print(1)","why":"because"}', '{"code":"print(1)","why":"because"}'],
    ['an object of something else', '{"input":{"code":1}}', '{"input":{"code":1}}'],
    ['an empty text', '{"input":""}', ''],
    ['nothing', '', ''],
    ['blanks around', ' {\n  "input" : "print(1)"\n}\n', 'print(1)'],
    ['words in other letters', '{"input":"\\u0070rint(\\u4f60\\ud83d\\udc4d)"}', 'print(你👍)'],
  ])('calls of custom tools take what the model writes in place of the text: %s', async (_, json, input) => {
    for (const length of [1, 1000]) {
      const toolCalls = [{ name: 'exec', arguments: pieces(json, length) }];
      const { response } = await translation.turn({ tools: [TEXT] }, { toolCalls });
      expect(itemsOf(response)).toEqual([item(input)]);
    }
  });

  it('calls of custom tools never tear a letter apart between deltas', async () => {
    const toolCalls = [{ name: 'exec', arguments: pieces('{"input":"a\\ud83d\\udc4db"}', 1) }];
    const { response, events = [] } = await translation.turn({ tools: [TEXT] }, { toolCalls });
    expect(itemsOf(response)).toEqual([item('a👍b')]);
    // Readers that are strict about Unicode refuse half a letter.
    for (const { delta } of events) expect(String(delta).isWellFormed()).toBe(true);
  });

  it.each<[string, number]>([
    ['in pieces', 7],
    ['in one piece', 100_000],
  ])('calls of custom tools show how far the model came when it is cut off %s', async (_, length) => {
    const text = 'print("hello");\n'.repeat(200);
    const json = JSON.stringify({ input: text }).slice(0, -2);
    const toolCalls = [{ name: 'exec', arguments: pieces(json, length) }];
    const { response } = await translation.turn({ tools: [TEXT] }, { toolCalls, finish: 'length' });
    expect(response.status).toBe('incomplete');
    expect(itemsOf(response)).toEqual([item(text, 'incomplete')]);
  });
});
