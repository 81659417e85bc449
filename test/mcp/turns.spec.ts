import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { checkEventOrder, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { BACKGROUND_TRANSPORT } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { call as callOf, USAGE } from '../support/scripted-calls.js';
import { itemsOf, typesOf } from '../support/output.js';
import { startService } from '../support/service.js';
import type { WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const TOOLS = [
  { name: 'roll', description: 'Rolls dice.', annotations: { readOnlyHint: true }, handler: (): string => 'four' },
  { name: 'send', description: 'Sends a letter.' },
  { name: 'fail', handler: (): never => Promise.reject(new Error('no such table')) as never },
];

const server = await FakeMcpServer.start(TOOLS);
const path = await writeMcpServers({ dice: { url: server.url }, gone: { url: 'http://127.0.0.1:9/mcp' } });

afterAll(async () => {
  await server.close();
});

const service = useService(
  () => startService({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } }) as never,
);

beforeEach(() => {
  service.provider.turns.length = 0;
  server.requests.length = 0;
});

const DICE = { type: 'mcp', server_label: 'dice', require_approval: 'never' } as const;
const CAREFUL = { type: 'mcp', server_label: 'dice', require_approval: { never: { read_only: true } } } as const;

const call = (tool: string, args = '{}', key = tool): readonly ModelEvent[] => callOf(`dice__${tool}`, args, key);

describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])('a tool of an MCP server, over $name', (transport) => {
  it('a tool of an MCP server is listed, offered to the model as a function, called, and its result given to the model', async () => {
    service.provider.reply(...call('roll', '{"sides":6}'), USAGE).reply({ type: 'text', delta: 'A four.' }, USAGE);
    const body = { model: 'm', input: 'Roll.', tools: [{ ...DICE, headers: { 'x-secret': 'hush' } }] };
    const { response, events } = await transport.run(service, body);
    expect(server.requests.at(-1)?.headers).toMatchObject({ 'x-secret': 'hush' });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 20, output_tokens: 10 } });
    expect(itemsOf(response, 'mcp_call')).toMatchObject([
      {
        server_label: 'dice',
        name: 'roll',
        arguments: '{"sides":6}',
        output: 'four',
        error: null,
        status: 'completed',
      },
    ]);
    expect(JSON.stringify(response)).not.toContain('hush');
    const [first, second] = service.provider.turns;
    expect(first?.settings.tools).toMatchObject([
      { type: 'function', name: 'dice__roll', description: 'Rolls dice.' },
      { type: 'function', name: 'dice__send' },
      { type: 'function', name: 'dice__fail' },
    ]);
    expect(second?.context.slice(-2)).toMatchObject([
      { type: 'function_call', name: 'dice__roll', arguments: '{"sides":6}' },
      { type: 'function_call_output', output: 'four' },
    ]);
    if (events === undefined) return;
    checkEventOrder(events, { transport: transport.name === 'ws' ? 'ws' : 'sse' });
    expect(events.map(({ type }) => type).filter((type) => type.includes('mcp'))).toEqual([
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
    ]);
  });

  it('a tool of an MCP server is listed once in a chain', async () => {
    service.provider.reply({ type: 'text', delta: 'One.' }).reply({ type: 'text', delta: 'Two.' });
    const { response } = await transport.run(service, { model: 'm', input: 'a', tools: [DICE] });
    const next = { model: 'm', input: 'b', tools: [DICE], previous_response_id: response.id };
    const { response: second } = await transport.run(service, next);
    expect(typesOf(second)).toEqual(['message']);
    expect(server.count('tools/list')).toBe(1);
    expect(service.provider.turns[1]?.settings.tools).toHaveLength(3);
  });

  it('a tool of an MCP server waits for the approval of its call, which the next turn gives once', async () => {
    service.provider.reply(...call('send', '{"to":"Ann"}'), ...call('roll'), USAGE);
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [CAREFUL] });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'mcp_approval_request']);
    expect(server.count('tools/call')).toBe(1);
    const [request] = itemsOf(response, 'mcp_approval_request');
    expect(request).toMatchObject({ server_label: 'dice', name: 'send', arguments: '{"to":"Ann"}' });
    service.provider.reply({ type: 'text', delta: 'Sent.' }, USAGE);
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
    const next = { model: 'm', input: [answer], tools: [CAREFUL], previous_response_id: response.id };
    const { response: second } = await transport.run(service, next);
    expect(typesOf(second)).toEqual(['mcp_call', 'message']);
    expect(itemsOf(second, 'mcp_call')).toMatchObject([
      { name: 'send', approval_request_id: request?.['id'], output: '{"to":"Ann"}' },
    ]);
    expect(server.count('tools/call')).toBe(2);
    const again = await transport.run(service, next).catch((error: unknown) => error);
    expect(JSON.stringify(again)).toContain('answered before');
    expect(server.count('tools/call')).toBe(2);
  });

  it('a tool of an MCP server is not called when its approval is denied, and the model is told', async () => {
    service.provider.reply(...call('send'), USAGE).reply({ type: 'text', delta: 'As you like.' }, USAGE);
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [CAREFUL] });
    const [request] = itemsOf(response, 'mcp_approval_request');
    const answer = {
      type: 'mcp_approval_response',
      approval_request_id: request?.['id'],
      approve: false,
      reason: 'No.',
    };
    const next = { model: 'm', input: [answer], tools: [CAREFUL], previous_response_id: response.id };
    const { response: second } = await transport.run(service, next);
    expect(typesOf(second)).toEqual(['message']);
    expect(server.count('tools/call')).toBe(0);
    expect(service.provider.turns[1]?.context.at(-1)).toMatchObject({
      type: 'function_call_output',
      output: 'The user has denied this call. Reason: No.',
    });
    // Models know functions alone: the answer would be one to nothing.
    expect(service.provider.turns[1]?.input).toEqual([]);
  });

  it('a tool of an MCP server fails as an item with an error, and the model goes on', async () => {
    service.provider
      .reply(...call('fail'), ...call('roll', 'nonsense'), USAGE)
      .reply({ type: 'text', delta: 'Sorry.' }, USAGE);
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [DICE] });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'mcp_call', 'message']);
    const calls = itemsOf(response, 'mcp_call');
    expect(calls.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect(JSON.stringify(calls)).toContain('The arguments are not a JSON object.');
  });

  it('a tool of an MCP server ends the turn where the client has a call to answer, too, with the results of the server', async () => {
    const ask: ModelEvent = { type: 'function_call', name: 'ask', callId: 'call_1', key: 'ask' };
    service.provider.reply(...call('roll'), ask, { type: 'end', key: 'ask' }, USAGE);
    const tools = [DICE, { type: 'function', name: 'ask', parameters: {} }];
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'function_call', 'mcp_call']);
    service.provider.reply({ type: 'text', delta: 'Done.' });
    const input = [{ type: 'function_call_output', call_id: 'call_1', output: 'yes' }];
    const next = { model: 'm', input, tools, previous_response_id: response.id };
    const { response: second } = await transport.run(service, next);
    expect(typesOf(second)).toEqual(['message']);
    const outputs = service.provider.turns[1]?.context.filter(({ type }) => type === 'function_call_output');
    expect(outputs).toMatchObject([{ output: 'four' }, { output: 'yes' }]);
  });

  it('a tool of an MCP server is called at most as often as the request allows; then the model has no tools', async () => {
    service.provider
      .reply(...call('roll', '{}', 'a'), ...call('roll', '{}', 'b'), USAGE)
      .reply({ type: 'text', delta: 'Enough.' });
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [DICE], max_tool_calls: 1 });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    expect(server.count('tools/call')).toBe(1);
    expect(service.provider.turns[1]?.settings.tools).toEqual([]);
  });

  it('a tool of an MCP server leaves the response incomplete when the model goes on to call it', async () => {
    const reasoning: ModelEvent = { type: 'reasoning', delta: 'Once more.' };
    service.provider.reply(...call('roll', '{}', 'a'), USAGE).reply(reasoning, ...call('roll', '{}', 'b'), USAGE);
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools: [DICE], max_tool_calls: 1 });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'reasoning']);
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_tool_calls' } });
    service.provider
      .reply(...call('roll', '{}', 'c'), USAGE)
      .reply({ type: 'text', delta: 'Enough.' }, ...call('roll', '{}', 'd'), USAGE);
    const next = { model: 'm', input: 'Go.', tools: [DICE], max_tool_calls: 1 };
    expect((await transport.run(service, next)).response).toMatchObject({ status: 'completed' });
  });

  it('a tool of an MCP server fails the turn when its server cannot be asked for its tools', async () => {
    const tools = [{ type: 'mcp', server_label: 'gone', require_approval: 'never' }];
    const { response } = await transport.run(service, { model: 'm', input: 'Go.', tools });
    const message = expect.stringMatching(
      /^Error retrieving tool list from MCP server: 'gone'\. The server could not be reached/,
    );
    expect(response).toMatchObject({ status: 'failed', error: { code: 'http_error', message } });
    expect(itemsOf(response, 'mcp_list_tools')).toMatchObject([{ server_label: 'gone', tools: [] }]);
    expect(service.provider.turns).toEqual([]);
  });
});

const ask = async (body: object): Promise<WireResponse> =>
  (await service
    .client()
    .responses.create({ model: 'm', input: 'Go.', tools: [CAREFUL], ...body } as never)) as unknown as WireResponse;

describe('the tools of a server', () => {
  const namesOf = (turn: number): readonly unknown[] =>
    (service.provider.turns[turn]?.settings.tools as readonly { readonly name?: string }[]).map(({ name }) => name);

  it('the tools of a server are all there for a request that allows more than the one before', async () => {
    service.provider.reply({ type: 'text', delta: 'One.' }).reply({ type: 'text', delta: 'All.' });
    const { id } = await ask({ tools: [{ ...DICE, allowed_tools: ['roll'] }] });
    await ask({ tools: [DICE], previous_response_id: id });
    expect([namesOf(0), namesOf(1)]).toEqual([['dice__roll'], ['dice__roll', 'dice__send', 'dice__fail']]);
  });

  it('the tools of a server are listed once, also where the request allows one that is not there', async () => {
    service.provider.reply({ type: 'text', delta: 'One.' }).reply({ type: 'text', delta: 'Two.' });
    const tools = [{ ...DICE, allowed_tools: ['roll', 'rol'] }];
    const { id } = await ask({ tools });
    await ask({ tools, previous_response_id: id });
    expect(server.count('tools/list')).toBe(1);
  });

  it('the tools of a server have names that no function of the client has', async () => {
    service.provider.reply({ type: 'text', delta: 'Hello.' });
    await ask({ tools: [DICE, { type: 'function', name: 'dice__roll', parameters: {} }] });
    const names = namesOf(0);
    expect(new Set(names).size).toBe(4);
    expect(names).toContain('dice__roll');
  });

  it('the tools of a server can be demanded without its name, and one that is not there fails as a fault of the client', async () => {
    service.provider.reply({ type: 'text', delta: 'Hello.' });
    await ask({ tools: [DICE], tool_choice: { type: 'mcp', name: 'roll' } });
    expect(service.provider.turns[0]?.settings.tool_choice).toEqual({ type: 'function', name: 'dice__roll' });
    expect(await ask({ tools: [DICE], tool_choice: { type: 'mcp', name: 'fly' } })).toMatchObject({
      status: 'failed',
      error: {
        code: 'invalid_prompt',
        message: "No MCP server of this request offers any tool 'fly' that could be chosen.",
      },
    });
  });

  it('the tools of a server leave the choice of a function of the client as it is', async () => {
    service.provider.reply({ type: 'text', delta: 'Hello.' });
    const choice = { type: 'function', name: 'ask' };
    await ask({ tools: [DICE, { ...choice, parameters: {} }], tool_choice: choice });
    expect(service.provider.turns[0]?.settings.tool_choice).toEqual(choice);
  });

  it('the tools of a server belong to one server for each label', async () => {
    await expect(ask({ tools: [DICE, DICE] })).rejects.toMatchObject({ status: 400, param: 'tools' });
  });
});
