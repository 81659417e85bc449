import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { FakeMcpServer, FakeSearxng } from '../../src/testing/index.js';
import { type ChatService, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { functionCall, message } from '../support/responses-upstream/items.js';
import { type ResponsesService, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { longText } from '../support/compaction.js';

const server = await FakeMcpServer.start([
  { name: 'roll', description: 'Rolls dice.', annotations: { readOnlyHint: true }, handler: () => 'four' },
]);
const engine = await FakeSearxng.start([{ title: 'Dice', url: 'https://dice.example/', content: 'Six sides.' }]);
const path = await writeMcpServers({ dice: { url: server.url } });
const environment = { MCP_SERVERS: path, WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url, WEB_SEARCH_PAGES: 'none' };

afterAll(async () => {
  await server.close();
  await engine.close();
});

beforeEach(() => {
  server.requests.length = 0;
  engine.searches.length = 0;
});

const DICE = { type: 'mcp', server_label: 'dice', require_approval: 'never' } as const;
const SEARCH = { type: 'web_search' } as const;
const ANSWER = 'A four. Dice have six sides【1】.';

type Wire = Readonly<Record<string, unknown>>;

/** What the client of a turn with both tools sees, whatever the upstream. */
function expectBoth({ output }: { readonly output: readonly unknown[] }): void {
  const items = output as readonly Wire[];
  expect(items.map(({ type }) => type).sort()).toEqual(['mcp_call', 'mcp_list_tools', 'message', 'web_search_call']);
  expect(items.find(({ type }) => type === 'mcp_call')).toMatchObject({ name: 'roll', output: 'four', error: null });
  const [part] = items.at(-1)?.['content'] as readonly Wire[];
  expect(part).toMatchObject({
    text: 'A four. Dice have six sides.',
    annotations: [{ type: 'url_citation', url: 'https://dice.example/', start_index: 8, end_index: 27 }],
  });
}

describe('tools of the service, with an upstream that speaks Chat Completions', () => {
  const service = useService<ChatService>(() => startChatService({ environment }));

  beforeEach(() => {
    service.upstream.requests.length = 0;
  });

  const callBoth = (): void => {
    service.upstream.answer({
      toolCalls: [
        { id: 'call_1', name: 'dice__roll', arguments: '{"sides":6}' },
        { id: 'call_2', name: 'web_search', arguments: '{"queries":["dice"]}' },
      ],
    });
  };

  it.each([false, true])(
    'tools of the service are functions to a chat upstream, which reads their outputs; streamed: %s',
    async (stream) => {
      callBoth();
      service.upstream.answer({ text: ANSWER });
      const body = { model: 'tested', input: 'Roll.', tools: [DICE, SEARCH] };
      const { responses } = service.client();
      expectBoth(stream ? await responses.stream(body).finalResponse() : await responses.create(body));
      const [first, second] = service.upstream.requests.map(({ body: sent }) => sent as unknown as Wire);
      expect((first?.['tools'] as readonly { readonly function: Wire }[]).map((tool) => tool.function['name'])).toEqual(
        ['dice__roll', 'web_search'],
      );
      const said = second?.['messages'] as readonly Wire[];
      expect(said.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
        'four',
        expect.stringContaining('Six sides.'),
      ]);
      expect(JSON.stringify(said)).not.toContain('The web was searched');
    },
  );

  it('tools of the service are function calls of the past to a chat upstream in a turn without them', async () => {
    callBoth();
    service.upstream.answer({ text: ANSWER }).answer({ text: 'Yes.' });
    const { responses } = service.client();
    const { id } = await responses.create({ model: 'tested', input: 'Roll.', tools: [DICE, SEARCH] });
    await responses.create({ model: 'tested', input: 'Sure?', previous_response_id: id });
    const said = service.upstream.requests.at(-1)?.body['messages'] as unknown as readonly Wire[];
    const calls = said.flatMap(({ tool_calls: made }) => (made ?? []) as readonly { readonly function: Wire }[]);
    expect(calls.map((call) => call.function['name'])).toEqual(['dice__roll', 'web_search']);
    expect(said.filter(({ role }) => role === 'tool')).toHaveLength(2);
    // Nothing says once more that there was a search.
    expect(said.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(['Roll.', 'Sure?']);
  });

  it('tools of the service give data of the schema that the client asks for', async () => {
    callBoth();
    service.upstream.answer({ text: '{"eyes":4}' });
    const schema = {
      type: 'object',
      properties: { eyes: { type: 'integer' } },
      required: ['eyes'],
      additionalProperties: false,
    };
    const { output_text: said } = await service.client().responses.create({
      model: 'tested',
      input: 'Roll.',
      tools: [DICE, SEARCH],
      text: { format: { type: 'json_schema', name: 'throw', schema, strict: true } },
    });
    expect(said).toBe('{"eyes":4}');
    const [first, second] = service.upstream.requests.map(({ body: sent }) => sent as unknown as Wire);
    expect(first?.['response_format']).toEqual(second?.['response_format']);
  });

  it('tools of the service stand in a conversation: the next turn neither lists nor searches again, and still cites', async () => {
    const { conversations, responses } = service.client();
    const { id } = await conversations.create();
    const body = { model: 'tested', conversation: id, tools: [DICE, SEARCH] };
    callBoth();
    service.upstream.answer({ text: ANSWER });
    await responses.create({ ...body, input: 'Roll.' });
    service.upstream.answer({ text: 'As I said【1】.' });
    const { output } = await responses.create({ ...body, input: 'Sure?' });
    expect(output).toMatchObject([{ type: 'message', content: [{ annotations: [{ url: 'https://dice.example/' }] }] }]);
    expect(server.count('tools/list')).toBe(1);
    expect(engine.searches).toHaveLength(1);
    const items = await Array.fromAsync(conversations.items.list(id, { order: 'asc' }));
    expect(items.map(({ type }) => type).sort()).toEqual(
      ['mcp_call', 'mcp_list_tools', 'message', 'message', 'message', 'message', 'web_search_call'].sort(),
    );
  });

  it('tools of the service are compacted with the rest, and work behind the compaction', async () => {
    const { responses } = service.client();
    const body = { model: 'tested', tools: [DICE, SEARCH] };
    callBoth();
    service.upstream.answer({ text: ANSWER });
    const first = await responses.create({ ...body, input: longText('first', 1500) });
    // Asked for a summary, and then for an answer that needs the tools once more.
    service.upstream.answer({ text: 'SUMMARY: a four was rolled.' });
    callBoth();
    service.upstream.answer({ text: ANSWER });
    const second = await responses.create({
      ...body,
      input: longText('second', 700),
      previous_response_id: first.id,
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    });
    expect(second.output.map(({ type }) => type)).toContain('compaction');
    expect(second.output.map(({ type }) => type)).toContain('mcp_call');
    expect(second.output_text).toBe('A four. Dice have six sides.');
    expect(server.count('tools/call')).toBe(2);
  });

  /** The functions that the upstream was offered with a request, by its number. */
  const offered = (request: number): readonly Wire[] =>
    (
      (service.upstream.requests[request]?.body as unknown as Wire)['tools'] as readonly { readonly function: Wire }[]
    ).map((tool) => tool.function);

  const callRoll = (): void => {
    service.upstream.answer({ toolCalls: [{ id: 'call_roll', name: 'dice__roll', arguments: '{}' }] });
  };

  it.each([
    ['the server', { ...DICE, defer_loading: true }],
    ['the function that stands for a tool', { type: 'function', name: 'dice__roll', parameters: {}, strict: false }],
  ])(
    'tools of the service may be deferred: a search of the client finds %s, and the service runs it',
    async (_name, found) => {
      const search = {
        type: 'tool_search',
        execution: 'client',
        description: 'Finds tools.',
        parameters: { type: 'object' },
      };
      const tools = [{ ...DICE, defer_loading: true }, search] as never;
      service.upstream.answer({ toolCalls: [{ id: 'call_1', name: 'tool_search', arguments: '{}' }] });
      const { responses } = service.client();
      const first = await responses.create({ model: 'tested', input: 'Roll.', tools });
      const asked = first.output.at(-1) as unknown as Wire;
      expect(asked['type']).toBe('tool_search_call');
      expect(offered(0).map(({ name }) => name)).toEqual(['tool_search']);
      expect(offered(0)[0]?.['description']).toContain('Rolls dice.');
      callRoll();
      service.upstream.answer({ text: 'A four.' });
      const answer = { type: 'tool_search_output', call_id: asked['call_id'], execution: 'client', tools: [found] };
      const body = { model: 'tested', previous_response_id: first.id, tools, input: [answer] as never };
      const { output } = await responses.create(body);
      expect(offered(1).map(({ name }) => name)).toEqual(['tool_search', 'dice__roll']);
      expect(output).toMatchObject([{ type: 'mcp_call', name: 'roll', output: 'four' }, { type: 'message' }]);
    },
  );

  it('tools of the service may come with the input, and count for the turns that continue it', async () => {
    const { responses } = service.client();
    const added = { type: 'additional_tools', role: 'developer', tools: [DICE] };
    callRoll();
    service.upstream.answer({ text: 'A four.' });
    const input = [added, { role: 'user', content: 'Roll.' }] as never;
    const first = await responses.create({ model: 'tested', input });
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    callRoll();
    service.upstream.answer({ text: 'Again.' });
    const next = await responses.create({ model: 'tested', previous_response_id: first.id, input: 'Again.' });
    expect(next.output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
    expect(offered(2).map(({ name }) => name)).toEqual(['dice__roll']);
  });

  it('tools of a server that nobody knows are refused, also with the input', async () => {
    const unknown = { ...DICE, server_label: 'nobody' };
    const input = [
      { role: 'user', content: 'Roll.' },
      { type: 'additional_tools', tools: [unknown] },
    ] as never;
    await expect(service.client().responses.create({ model: 'tested', input })).rejects.toMatchObject({
      status: 400,
      param: 'input[1].tools[0].server_url',
    });
  });

  it.each([
    ['additional_tools', { authorization: 'mine' }, 'authorization'],
    ['additional_tools', { server_url: 'https://mcp.example.com/mcp?api_key=open-sesame' }, 'server_url'],
    ['tool_search_output', { headers: { 'x-key': 'mine' } }, 'headers'],
  ])(
    'credentials of a server are refused in items of the type %s, which are stored',
    async (type, credentials, member) => {
      const items = [{ type, call_id: 'call_1', tools: [{ ...DICE, ...credentials }] }] as never;
      const { conversations, responses } = service.client();
      await expect(responses.create({ model: 'tested', input: items })).rejects.toMatchObject({
        status: 400,
        param: `input[0].tools[0].${member}`,
      });
      await expect(conversations.create({ items })).rejects.toMatchObject({ param: `items[0].tools[0].${member}` });
    },
  );
});

describe('tools of the service, with an upstream that speaks the Responses API', () => {
  const service = useService<ResponsesService>(() => startResponsesService({ environment }));

  it.each([false, true])(
    'tools of the service are functions to an upstream of the Responses API, which reads their outputs; streamed: %s',
    async (stream) => {
      const before = service.upstream.calls.length;
      service.upstream.say(functionCall('dice__roll', { sides: 6 }), functionCall('web_search', { queries: ['dice'] }));
      service.upstream.say(message(ANSWER));
      const body = { model: 'tested', input: 'Roll.', tools: [DICE, SEARCH] };
      const { responses } = service.client();
      expectBoth(stream ? await responses.stream(body).finalResponse() : await responses.create(body));
      const [first, second] = service.upstream.calls.slice(before).map((call) => call.body as Wire);
      expect((first?.['tools'] as readonly Wire[]).map(({ type, name }) => [type, name])).toEqual([
        ['function', 'dice__roll'],
        ['function', 'web_search'],
      ]);
      const said = second?.['input'] as readonly Wire[];
      const outputs = said.filter(({ type }) => type === 'function_call_output').map(({ output }) => output);
      expect(outputs).toEqual(['four', expect.stringContaining('Six sides.')]);
      expect(said.map(({ type }) => type)).not.toContain('web_search_call');
    },
  );
});
