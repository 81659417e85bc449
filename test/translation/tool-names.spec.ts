import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readCalls } from './call-groups.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf, type Members } from '../support/output.js';
import { functionOutput, functionTool, user } from '../support/translation/user-items.js';

const custom = (name: string): object => ({ type: 'custom', name });
const namespace = (name: string, ...tools: readonly object[]): object => ({
  type: 'namespace',
  name,
  description: 'Tools.',
  tools,
});

/** What identifies a tool in a call: its kind, its name and its namespace. */
interface Called {
  readonly type: string;
  readonly name: string;
  readonly namespace?: string;
}

const functionCalled = (name: string, space?: string): Called => ({
  type: 'function_call',
  name,
  ...(space === undefined ? {} : { namespace: space }),
});
const customCalled = (name: string, space?: string): Called => ({
  ...functionCalled(name, space),
  type: 'custom_tool_call',
});

const LONG = 'a'.repeat(128);

/** Lists of tools, and how the client knows each of them. */
const TOOLS: readonly (readonly [what: string, tools: readonly object[], called: readonly Called[]])[] = [
  [
    'plain ones',
    [functionTool('get_weather'), custom('exec-js')],
    [functionCalled('get_weather'), customCalled('exec-js')],
  ],
  [
    'names of 128 letters',
    [functionTool(LONG), functionTool(`${LONG.slice(1)}b`)],
    [functionCalled(LONG), functionCalled(`${LONG.slice(1)}b`)],
  ],
  [
    'foreign letters',
    [custom('führe aus'), custom('f.hre aus'), custom('执行')],
    [customCalled('führe aus'), customCalled('f.hre aus'), customCalled('执行')],
  ],
  [
    'a namespace',
    [namespace('crm', functionTool('find'), custom('note'))],
    [functionCalled('find', 'crm'), customCalled('note', 'crm')],
  ],
  [
    'the same name in two namespaces and in none',
    [namespace('crm', functionTool('find')), functionTool('find'), namespace('erp', functionTool('find'))],
    [functionCalled('find', 'crm'), functionCalled('find'), functionCalled('find', 'erp')],
  ],
  [
    'a function that is called like a tool of a namespace',
    [functionTool('crm__find'), namespace('crm', functionTool('find'))],
    [functionCalled('crm__find'), functionCalled('find', 'crm')],
  ],
  [
    'a tool of a namespace that is called like a function',
    [namespace('crm', functionTool('find')), functionTool('crm__find')],
    [functionCalled('find', 'crm'), functionCalled('crm__find')],
  ],
  [
    'namespaces that share their letters',
    [namespace('a', functionTool('b__c')), namespace('a__b', functionTool('c'))],
    [functionCalled('b__c', 'a'), functionCalled('c', 'a__b')],
  ],
  [
    'a function and a custom tool of one name',
    [functionTool('exec'), custom('exec')],
    [functionCalled('exec'), customCalled('exec')],
  ],
  [
    'long namespaces',
    [namespace('n'.repeat(100), functionTool('find'), functionTool('keep'))],
    [functionCalled('find', 'n'.repeat(100)), functionCalled('keep', 'n'.repeat(100))],
  ],
  [
    'namespaces of foreign letters',
    [namespace('mcp.docs/v1', functionTool('find')), namespace('mcp docs v1', functionTool('find'))],
    [functionCalled('find', 'mcp.docs/v1'), functionCalled('find', 'mcp docs v1')],
  ],
  ['functions called like tools without a name', [functionTool('shell'), { type: 'shell' }], [functionCalled('shell')]],
];

describe('names of tools for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  async function namesOf(tools: readonly object[]): Promise<readonly string[]> {
    return (await translation.functions({ tools })).map(({ name }) => String(name));
  }

  it.each(TOOLS)('names of tools are ones that every server takes, and differ: %s', async (_, tools) => {
    const names = await namesOf(tools);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(names.length);
    expect(await namesOf(tools)).toEqual(names);
  });

  it("names of tools are the client's own wherever they can be", async () => {
    const tools = [functionTool('get_weather'), custom('exec-js'), namespace('crm', functionTool('find'))];
    expect(await namesOf(tools)).toEqual(['get_weather', 'exec-js', 'crm__find']);
  });

  it.each(TOOLS)('names of tools lead back to the tool that is meant: %s', async (_, tools, called) => {
    const names = await namesOf(tools);
    const toolCalls = called.map((_tool, index) => ({ name: names[index] ?? '', arguments: '{"input":"x"}' }));
    const { response } = await translation.turn({ tools }, { toolCalls });
    const shown = itemsOf(response).map(({ type, name, namespace: space }) => ({
      type,
      name,
      ...(space === undefined ? {} : { namespace: space }),
    }));
    expect(shown).toEqual(called);
    const outputs = itemsOf(response).map(({ type, call_id }) => ({
      type: `${String(type)}_output`,
      call_id,
      output: 'done',
    }));
    const input = [user('Go on.'), ...itemsOf(response), ...outputs];
    expect(readCalls(await translation.messages({ tools, input })).map(({ name }) => name)).toEqual(
      names.slice(0, called.length),
    );
  });

  it.each(TOOLS)(
    'names of tools are known as soon as they are whole, though their pieces come one by one: %s',
    async (_, tools, called) => {
      const names = await namesOf(tools);
      const toolCalls = called.map((_tool, index) => ({ name: names[index] ?? '', arguments: '{"input":"x"}' }));
      const { response } = await translation.turn({ tools }, { toolCalls }, { callNames: 'split' });
      expect(itemsOf(response).map(({ type, name }) => ({ type, name }))).toEqual(
        called.map(({ type, name }) => ({ type, name })),
      );
    },
  );

  it.each<[what: string, tools: readonly object[], name: string, called: Called]>([
    [
      'one namespace has it',
      [namespace('crm', functionTool('find'), custom('keep'))],
      'keep',
      customCalled('keep', 'crm'),
    ],
    [
      'a function has it too, which comes first',
      [namespace('crm', functionTool('find')), functionTool('find')],
      'find',
      functionCalled('find'),
    ],
    [
      'two namespaces have it',
      [namespace('crm', functionTool('find')), namespace('erp', functionTool('find'))],
      'find',
      functionCalled('find'),
    ],
    [
      'it begins another one',
      [namespace('crm', functionTool('find'), functionTool('find_all'))],
      'find_all',
      functionCalled('find_all', 'crm'),
    ],
  ])('names of tools may lack their namespace: %s', async (_, tools, name, called) => {
    const call = { name, arguments: '{"input":"x"}' };
    for (const callNames of ['first_chunk', 'split'] as const) {
      const { response } = await translation.turn({ tools }, { toolCalls: [call] }, { callNames });
      expect(itemsOf(response)).toMatchObject([called]);
      expect(itemsOf(response)[0]?.['namespace']).toBe(called.namespace);
    }
  });

  it('names of tools stay the same for earlier calls of a tool that is not offered any more', async () => {
    const tools = [namespace('crm', functionTool('find')), functionTool(LONG)];
    const toolCalls = (await namesOf(tools)).map((name) => ({ name, arguments: '{}' }));
    const { response } = await translation.turn({ tools }, { toolCalls });
    const outputs = ['call_1', 'call_2'].map((callId) => functionOutput(callId, 'done'));
    const messages = await translation.messages({ previous_response_id: response.id, input: outputs });
    expect(readCalls(messages).map(({ name }) => name)).toEqual(toolCalls.map(({ name }) => name));
  });

  it('names of tools stay the same when other tools come and go', async () => {
    const tools = [namespace('crm', functionTool('find')), custom('führe aus')];
    const before = await namesOf(tools);
    const after = await namesOf([functionTool('another'), ...tools.toReversed()]);
    expect(after.toSorted()).toEqual([...before, 'another'].toSorted());
  });

  it('names of tools are told in the words of the model where a search has found tools', async () => {
    const found = [namespace('mcp.docs', functionTool('find')), functionTool('look')];
    const input: readonly Members[] = [
      { type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: { query: 'find' } },
      { type: 'tool_search_output', call_id: 'call_1', execution: 'client', tools: found },
    ];
    const body = await translation.sent({ input, tools: [{ type: 'tool_search', execution: 'client' }] });
    const names = ((body['tools'] ?? []) as readonly { readonly function: Members }[]).map((tool) =>
      String(tool.function['name']),
    );
    const [search] = readCalls(body.messages ?? []);
    for (const name of names.slice(1)) expect(search?.output).toContain(JSON.stringify(name));
    expect(names).toHaveLength(3);
  });
});
