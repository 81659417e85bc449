import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readCalls } from './call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { functionOutput, user } from '../support/translation/user-items.js';
import { TRANSPORTS } from '../support/transports.js';

/** A tool that has an item type of its own, a call of it, and what the client sends back. */
interface ClientTool {
  readonly tool: object;
  readonly name: string;
  /** What the model writes. */
  readonly arguments: object;
  readonly item: object;
  readonly prefix: string;
  readonly output: (item: { readonly id?: unknown; readonly call_id?: unknown }) => object;
  readonly told: unknown;
}

const shellOutput = [{ stdout: 'a.txt\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
const shellTool: ClientTool = {
  tool: { type: 'shell', environment: { type: 'local' } },
  name: 'shell',
  arguments: { commands: ['ls', 'cat a.txt'], timeout_ms: 1000, max_output_length: 4096 },
  item: {
    type: 'shell_call',
    action: { commands: ['ls', 'cat a.txt'], timeout_ms: 1000, max_output_length: 4096 },
    environment: null,
  },
  prefix: 'sh',
  output: ({ call_id }) => ({ type: 'shell_call_output', call_id, output: shellOutput }),
  told: JSON.stringify(shellOutput),
};
const patchTool: ClientTool = {
  tool: { type: 'apply_patch' },
  name: 'apply_patch',
  arguments: { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' },
  item: { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' } },
  prefix: 'apc',
  output: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id, status: 'completed', output: 'Done.' }),
  told: JSON.stringify({ status: 'completed', output: 'Done.' }),
};
const local = { command: ['ls', '-la'], working_directory: '/srv', env: { A: 'b' }, timeout_ms: 1000, user: 'ada' };
const localTool: ClientTool = {
  tool: { type: 'local_shell' },
  name: 'local_shell',
  arguments: local,
  item: { type: 'local_shell_call', action: { type: 'exec', ...local } },
  prefix: 'lsh',
  output: ({ call_id }) => ({ type: 'local_shell_call_output', id: call_id, output: 'a.txt' }),
  told: 'a.txt',
};

const CLIENT_TOOLS: readonly (readonly [name: string, tool: ClientTool])[] = [
  ['shell', shellTool],
  [
    'shell, with no more than commands',
    {
      ...shellTool,
      arguments: { commands: ['ls'] },
      item: {
        type: 'shell_call',
        action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
        environment: null,
      },
    },
  ],
  ['apply_patch of an update', patchTool],
  [
    'apply_patch of a new file',
    {
      ...patchTool,
      arguments: { type: 'create_file', path: 'b/ü.txt', diff: '+new' },
      item: { type: 'apply_patch_call', operation: { type: 'create_file', path: 'b/ü.txt', diff: '+new' } },
    },
  ],
  [
    'apply_patch of a deletion',
    {
      ...patchTool,
      arguments: { type: 'delete_file', path: 'a.txt' },
      item: { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a.txt' } },
    },
  ],
  ['local_shell', localTool],
  [
    'local_shell, with no more than a command',
    {
      ...localTool,
      arguments: { command: ['ls'] },
      item: {
        type: 'local_shell_call',
        action: { type: 'exec', command: ['ls'], env: {} },
      },
    },
  ],
];

describe('tools of the client for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  it.each(CLIENT_TOOLS)(
    'tools of the client are functions with a description and a schema: %s',
    async (_, { tool, name, arguments: made }) => {
      const [offered] = await translation.functions({ tools: [tool] });
      expect(offered).toMatchObject({
        name,
        description: expect.stringMatching(/\w/) as unknown,
        parameters: { type: 'object', additionalProperties: false },
      });
      const { properties, required } = offered?.['parameters'] as { properties: object; required: readonly string[] };
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(made)));
      expect(Object.keys(made)).toEqual(expect.arrayContaining([...required]));
    },
  );

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CLIENT_TOOLS)(
      'tools of the client are called as items of their own type: %s',
      async (_, { tool, name, arguments: made, item }) => {
        const json = JSON.stringify(made);
        const toolCalls = [{ name, arguments: [json.slice(0, 5), json.slice(5)] }];
        const { response, events } = await translation.run(transport, { tools: [tool] }, { toolCalls });
        const whole = { ...item, id: expect.any(String) as unknown, call_id: 'call_1', status: 'completed' };
        expect(itemsOf(response)).toEqual([whole]);
        if (events === undefined) return;
        const added = events.filter(({ type }) => type.startsWith('response.output_item.'));
        expect(added.map((event) => event['item'])).toEqual([{ ...whole, status: 'in_progress' }, whole]);
      },
    );
  });

  it.each(CLIENT_TOOLS)(
    "a call of a client's tool comes back as the call that the model made: %s",
    async (_, client) => {
      const { tool, name, arguments: made } = client;
      const toolCalls = [{ name, arguments: JSON.stringify(made) }];
      const { response } = await translation.turn({ tools: [tool] }, { toolCalls });
      const output = client.output(itemsOf(response)[0] ?? {});
      const replayed = { tools: [tool], input: [user('Go on.'), ...itemsOf(response), output] };
      const chained = { tools: [tool], previous_response_id: response.id, input: [output] };
      for (const request of [replayed, chained]) {
        const [call] = readCalls(await translation.messages(request));
        expect(call).toMatchObject({ id: 'call_1', name, output: client.told });
        expect(JSON.parse(call?.arguments ?? '')).toEqual(made);
      }
    },
  );

  it('tools of the client are called beside each other, and shown in the order of the calls', async () => {
    const tools = [shellTool.tool, patchTool.tool, { type: 'function', name: 'look', parameters: null, strict: false }];
    const toolCalls = [
      { name: 'shell', arguments: '{"commands":["ls"]}' },
      { name: 'look', arguments: '{}' },
      { name: 'apply_patch', arguments: '{"type":"delete_file","path":"a"}' },
    ];
    for (const callOrder of ['in_turn', 'alternating', 'together'] as const) {
      const { response } = await translation.turn({ tools }, { toolCalls }, { callOrder });
      expect(itemsOf(response).map(({ type }) => type)).toEqual(['shell_call', 'function_call', 'apply_patch_call']);
    }
  });

  it.each<[string, object, string, string]>([
    ['shell without commands', shellTool.tool, 'shell', '{"command":"ls"}'],
    ['shell with commands that are no texts', shellTool.tool, 'shell', '{"commands":[1]}'],
    ['shell with no JSON', shellTool.tool, 'shell', 'ls -la'],
    ['shell with nothing', shellTool.tool, 'shell', '{}'],
    ['apply_patch without a path', patchTool.tool, 'apply_patch', '{"type":"delete_file"}'],
    ['apply_patch of an unknown type', patchTool.tool, 'apply_patch', '{"type":"move_file","path":"a"}'],
    ['apply_patch without the diff', patchTool.tool, 'apply_patch', '{"type":"update_file","path":"a"}'],
    ['local_shell with an empty object', localTool.tool, 'local_shell', '{}'],
    ['local_shell with a list', localTool.tool, 'local_shell', '["ls"]'],
  ])(
    "calls of the client's tools are function calls where the arguments do not fit: %s",
    async (_, tool, name, json) => {
      const { response } = await translation.turn({ tools: [tool] }, { toolCalls: [{ name, arguments: json }] });
      // Arguments that are no JSON may be cut.
      const status = json.startsWith('ls') ? 'incomplete' : 'completed';
      expect(response.status).toBe(status);
      expect(itemsOf(response)).toMatchObject([
        { type: 'function_call', status, call_id: 'call_1', name, arguments: json },
      ]);
      const input = [user('Go on.'), ...itemsOf(response), functionOutput('call_1', 'That does not fit.')];
      const [call] = readCalls(await translation.messages({ tools: [tool], input }));
      expect(call).toMatchObject({ id: 'call_1', name, output: 'That does not fit.' });
      const told = JSON.parse(call?.arguments ?? '') as unknown;
      // Servers take nothing but objects in the past.
      expect([json, JSON.stringify({ input: json })]).toContain(JSON.stringify(told));
    },
  );

  it.each(CLIENT_TOOLS)(
    "calls of the client's tools are incomplete function calls where the model was cut off: %s",
    async (_, { tool, name, arguments: made }) => {
      const json = JSON.stringify(made).slice(0, -3);
      const { response } = await translation.turn(
        { tools: [tool] },
        { toolCalls: [{ name, arguments: json }], finish: 'length' },
      );
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
      expect(itemsOf(response)).toMatchObject([{ type: 'function_call', status: 'incomplete', name, arguments: json }]);
    },
  );

  it.each<[string, object]>([
    ['a container', { type: 'container_auto' }],
    ['a certain container', { type: 'container_reference', container_id: 'cntr_1' }],
  ])('tools of the client are not those of %s, which a provider would run', async (_, environment) => {
    const tool = { type: 'shell', environment };
    const { body, response } = await translation.turn({ tools: [tool, patchTool.tool] });
    expect(functionsOf(body).map(({ name }) => name)).toEqual(['apply_patch']);
    expect(response['tools']).toEqual([tool, patchTool.tool]);
  });

  it.each([{ type: 'shell' }, { type: 'shell', environment: null }, { type: 'shell', environment: { type: 'local' } }])(
    'tools of the client are those of its own machine: %j',
    async (tool) => {
      expect(await translation.functions({ tools: [tool] })).toMatchObject([{ name: 'shell' }]);
    },
  );

  it('a shell tool takes one command where a list is expected', async () => {
    const toolCalls = [{ name: 'shell', arguments: '{"commands":"ls"}' }];
    const { response } = await translation.turn({ tools: [shellTool.tool] }, { toolCalls });
    expect(itemsOf(response)).toMatchObject([{ type: 'shell_call', action: { commands: ['ls'] } }]);
  });
});
