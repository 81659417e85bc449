import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readCalls } from './call-groups.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { functionOutput, functionTool, user } from '../support/translation/user-items.js';
import { TRANSPORTS } from '../support/transports.js';

const deferred = (name: string): object => functionTool(name, { defer_loading: true });
const SEARCH = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds tools.',
  parameters: { type: 'object', properties: { words: { type: 'string' } } },
};
const CRM = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers.',
  tools: [deferred('find'), functionTool('list')],
};
const TOOLS = [functionTool('look'), deferred('listen'), CRM, SEARCH];

const found = (callId: string, ...tools: readonly object[]): object => ({
  type: 'tool_search_output',
  call_id: callId,
  execution: 'client',
  status: 'completed',
  tools,
});
const searched = { toolCalls: [{ name: 'tool_search', arguments: '{"words":"customers"}' }] };

describe('searches for tools with an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  async function namesOf(request: object): Promise<readonly unknown[]> {
    return (await translation.functions(request)).map(({ name }) => name);
  }

  it('a search for tools is a function, and deferred tools are not there before they are found', async () => {
    expect(await namesOf({ tools: TOOLS })).toEqual(['look', 'crm__list', 'tool_search']);
    const functions = await translation.functions({ tools: TOOLS });
    expect(functions.at(-1)).toEqual({
      name: 'tool_search',
      description: expect.stringMatching(/^Finds tools\./) as unknown,
      parameters: SEARCH.parameters,
    });
  });

  it('a search for tools has a description and a parameter of its own where the client gives none', async () => {
    const [offered] = await translation.functions({ tools: [{ type: 'tool_search', execution: 'client' }] });
    expect(offered).toMatchObject({
      description: expect.stringMatching(/\w/) as unknown,
      parameters: { type: 'object', required: ['query'] },
    });
  });

  it('searches for tools tell the model what there is to be found', async () => {
    const listen = functionTool('listen', { defer_loading: true, description: 'Listens to the sea.' });
    const [offered] = await translation.functions({ tools: [SEARCH, listen, CRM] });
    expect(offered?.['name']).toBe('tool_search');
    for (const word of ['Finds tools.', 'listen', 'Listens to the sea.', 'crm', 'Customers.']) {
      expect(offered?.['description']).toContain(word);
    }
  });

  it.each<[string, readonly object[]]>([
    ['the service should run them', [functionTool('look'), deferred('listen'), CRM, { type: 'tool_search' }]],
    [
      'the service should run them, by name',
      [functionTool('look'), deferred('listen'), CRM, { type: 'tool_search', execution: 'server' }],
    ],
    ['there are none', [functionTool('look'), deferred('listen'), CRM]],
  ])('searches for tools are not needed where %s: all tools are offered', async (_, tools) => {
    expect(await namesOf({ tools })).toEqual(['look', 'listen', 'crm__find', 'crm__list']);
  });

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it('searches for tools are called as items of their own type', async () => {
      const { response, events } = await translation.run(transport, { tools: TOOLS }, searched);
      const item = {
        id: expect.any(String) as unknown,
        type: 'tool_search_call',
        status: 'completed',
        execution: 'client',
        call_id: 'call_1',
        arguments: { words: 'customers' },
      };
      expect(itemsOf(response)).toEqual([item]);
      const done = events?.find(({ type }) => type === 'response.output_item.done');
      if (events !== undefined) expect(done?.['item']).toEqual(item);
    });
  });

  it('searches for tools bring the tools that were found, for the rest of the conversation', async () => {
    const first = await translation.turn({ tools: TOOLS, input: 'Find Ada.' }, searched);
    const input = [found('call_1', { ...CRM, tools: [deferred('find')] }, deferred('listen'))];
    const second = await translation.turn(
      { tools: TOOLS, previous_response_id: first.response.id, input },
      { toolCalls: [{ name: 'crm__find', id: 'call_2', arguments: '{"name":"Ada"}' }] },
    );
    expect(
      ((second.body['tools'] ?? []) as readonly { readonly function: { readonly name: string } }[]).map(
        (tool) => tool.function.name,
      ),
    ).toEqual(['look', 'crm__list', 'tool_search', 'crm__find', 'listen']);
    expect(itemsOf(second.response)).toMatchObject([{ type: 'function_call', name: 'find', namespace: 'crm' }]);
    const third = await translation.sent({
      tools: TOOLS,
      previous_response_id: second.response.id,
      input: [functionOutput('call_2', 'Ada, Bern')],
    });
    expect(readCalls(third.messages ?? [])).toMatchObject([
      { id: 'call_1', name: 'tool_search', arguments: '{"words":"customers"}' },
      { id: 'call_2', name: 'crm__find', arguments: '{"name":"Ada"}', output: 'Ada, Bern' },
    ]);
    expect(third['tools']).toHaveLength(5);
  });

  it('a search for tools may find nothing', async () => {
    const { response } = await translation.turn({ tools: TOOLS }, searched);
    const body = await translation.sent({ tools: TOOLS, previous_response_id: response.id, input: [found('call_1')] });
    expect(readCalls(body.messages ?? [])).toMatchObject([
      { name: 'tool_search', output: expect.stringMatching(/./) as unknown },
    ]);
    expect(body['tools']).toHaveLength(3);
  });

  it.each<[string, string]>([
    ['no JSON', 'customers'],
    ['no object', '"customers"'],
  ])('searches for tools are function calls where the arguments are %s', async (_, json) => {
    const { response } = await translation.turn(
      { tools: TOOLS },
      { toolCalls: [{ name: 'tool_search', arguments: json }] },
    );
    expect(itemsOf(response)).toMatchObject([{ type: 'function_call', name: 'tool_search', arguments: json }]);
  });

  it('searches for tools are not the only way for tools to come along', async () => {
    const added = {
      type: 'additional_tools',
      role: 'developer',
      tools: [functionTool('late'), { type: 'custom', name: 'exec' }, CRM],
    };
    const input = [added, user('Hello')];
    const body = await translation.sent({ input });
    expect(await namesOf({ input })).toEqual(['late', 'exec', 'crm__find', 'crm__list']);
    expect(body.messages).toEqual([{ role: 'user', content: 'Hello' }]);
    const { response } = await translation.turn(
      { input },
      { toolCalls: [{ name: 'exec', arguments: '{"input":"x"}' }] },
    );
    expect(itemsOf(response)).toMatchObject([{ type: 'custom_tool_call', name: 'exec', input: 'x' }]);
  });
});
