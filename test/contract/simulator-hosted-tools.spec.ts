import { describe, expect, it } from '@jest/globals';
import { Agent, hostedMcpTool, type RunToolApprovalItem, Runner } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import type OpenAI from 'openai';

import { useService } from '../support/describe-service.js';
import { addScript, startWithScripts } from '../support/script-files.js';
import { outline, STREAMING } from '../support/simulator-requests.js';
import { TRANSPORTS } from '../support/transports.js';

const CONTROLLED = { environment: { SIMULATOR_CONTROL: true } };

const ID = expect.stringMatching(/^[a-z]+_[0-9a-f]{32}$/);

/** A line of a script, the item that it gives, and its events between `added` and `done`. */
const LINES: readonly (readonly [line: object, item: object, events: readonly string[]])[] = [
  [
    { search: 'weather in Lisbon' },
    {
      type: 'web_search_call',
      id: ID,
      status: 'completed',
      action: { type: 'search', query: 'weather in Lisbon', queries: ['weather in Lisbon'], sources: [] },
    },
    ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
  ],
  [
    { search: { query: 'news', sources: ['https://example.com/a'] } },
    {
      type: 'web_search_call',
      id: ID,
      status: 'completed',
      action: {
        type: 'search',
        query: 'news',
        queries: ['news'],
        sources: [{ type: 'url', url: 'https://example.com/a' }],
      },
    },
    ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
  ],
  [
    { files: { query: 'holidays', results: [{ filename: 'rules.md', text: 'Thirty days.', score: 0.9 }] } },
    {
      type: 'file_search_call',
      id: ID,
      status: 'completed',
      queries: ['holidays'],
      results: [{ file_id: 'file-0', filename: 'rules.md', text: 'Thirty days.', score: 0.9, attributes: {} }],
    },
    ['file_search_call.in_progress', 'file_search_call.searching', 'file_search_call.completed'],
  ],
  [
    { code: { code: 'print(6 * 7)', output: '42\n', container: 'cntr_1' } },
    {
      type: 'code_interpreter_call',
      id: ID,
      status: 'completed',
      code: 'print(6 * 7)',
      container_id: 'cntr_1',
      outputs: [{ type: 'logs', logs: '42\n' }],
    },
    [
      'code_interpreter_call.in_progress',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
    ],
  ],
  [
    { image: { prompt: 'A cat.', result: 'aW1hZ2U=', partial: ['cGFydA=='] } },
    {
      type: 'image_generation_call',
      id: ID,
      status: 'completed',
      result: 'aW1hZ2U=',
      revised_prompt: 'A cat.',
      action: 'generate',
      output_format: 'png',
      size: '1024x1024',
      quality: 'auto',
      background: 'opaque',
    },
    [
      'image_generation_call.in_progress',
      'image_generation_call.generating',
      'image_generation_call.partial_image',
      'image_generation_call.completed',
    ],
  ],
];

const MCP_LINES: readonly (readonly [line: object, call: object, end: string])[] = [
  [{ mcp: 'shop.look' }, { status: 'completed', arguments: '{}', output: '', error: null }, 'completed'],
  [
    { mcp: { server: 'shop', tool: 'look', arguments: { sku: 1 }, output: 'A cup.' } },
    { status: 'completed', arguments: '{"sku":1}', output: 'A cup.', error: null },
    'completed',
  ],
  [
    { mcp: { server: 'shop', tool: 'look', error: 'Closed.' } },
    {
      status: 'failed',
      arguments: '{}',
      output: null,
      error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'Closed.' }] },
    },
    'failed',
  ],
];

const include = [
  'web_search_call.action.sources',
  'file_search_call.results',
  'code_interpreter_call.outputs',
] as const;

describe.each(TRANSPORTS)('a hosted tool in a script over $name', (transport) => {
  const service = useService(CONTROLLED);

  it.each(LINES)('a hosted tool in a script plays %j', async (line, item, events) => {
    const play = await addScript(service, transport, { turns: [{ ...line, text: 'Done.' }] });
    const answer = await play({ input: 'Go.', include });
    const { output } = answer.response;
    expect(output).toEqual([item, expect.objectContaining({ type: 'message' })]);
    if (answer.events === undefined) return;
    const types = outline(answer.events);
    const added = types.indexOf('response.output_item.added');
    expect(types.slice(added + 1, types.indexOf('response.output_item.done'))).toEqual(
      events.map((name) => `response.${name}`),
    );
  });

  it.each(MCP_LINES)('a hosted tool in a script plays %j', async (line, call, end) => {
    const play = await addScript(service, transport, { turns: [{ ...line, text: 'Done.' }] });
    const { response, events } = await play({ input: 'Go.' });
    expect(response.status).toBe('completed');
    expect(response['output']).toEqual([
      {
        type: 'mcp_list_tools',
        id: ID,
        server_label: 'shop',
        tools: [{ name: 'look', description: null, input_schema: { type: 'object' }, annotations: null }],
      },
      { type: 'mcp_call', id: ID, server_label: 'shop', name: 'look', approval_request_id: null, ...call },
      expect.objectContaining({ type: 'message' }),
    ]);
    if (events === undefined) return;
    expect(outline(events).filter((type) => type.startsWith('response.mcp_'))).toEqual([
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      `response.mcp_call.${end}`,
    ]);
  });

  it('a script shows what a request did not ask for to nobody', async () => {
    const turns = [{ steps: LINES.map(([line]) => line) }];
    const play = await addScript(service, transport, { turns });
    const { response } = await play({ input: 'Go.' });
    const text = JSON.stringify(response['output']);
    for (const hidden of ['example.com', 'Thirty days', '42']) {
      expect(text.replaceAll(/[a-z]+_[0-9a-f]{32}/g, '')).not.toContain(hidden);
    }
  });

  it('a script lists the tools of a server once', async () => {
    const turns = [
      { mcp: 'shop.look', text: 'One.' },
      { mcp: 'shop.buy', text: 'Two.' },
    ];
    const play = await addScript(service, transport, { turns });
    const first = await play({ input: 'Go.' });
    const body = { input: 'Go on.', previous_response_id: first.response.id };
    const { response } = await play(body);
    expect(typesOf(response['output'])).toEqual(['mcp_call', 'message']);
  });
});

describe.each(STREAMING)('a call that waits for an approval over $name', (transport) => {
  const service = useService(CONTROLLED);

  const BUY = { server: 'shop', tool: 'buy', arguments: { sku: 1 }, output: 'Bought.', approval: true };
  const answer = (request: { readonly id: string }, approve: boolean) => ({
    type: 'mcp_approval_response',
    approval_request_id: request.id,
    approve,
  });
  const WAYS = [
    ['in order', {}],
    ['by the conversation', { advance: 'conversation' }],
    ['by the last user message', { match: 'last_user_message' }],
  ] as const;

  it.each(WAYS)(
    'a call that waits for an approval goes on once it is approved, then with the next turn: %s',
    async (_, settings) => {
      const turns = [{ steps: [{ text: 'I will buy it.' }, { mcp: BUY }, { text: 'Done.' }] }, { text: 'Next.' }];
      const run = await addScript(service, transport, { ...settings, turns });
      const asked = await run({ input: 'Buy.' });
      expect(typesOf(asked.response['output'])).toEqual(['message', 'mcp_list_tools', 'mcp_approval_request']);
      const request = (asked.response['output'] as { id: string }[])[2] ?? { id: '' };
      expect(request).toMatchObject({ server_label: 'shop', name: 'buy', arguments: '{"sku":1}' });
      const bought = await run({ previous_response_id: asked.response.id, input: [answer(request, true)] });
      expect(bought.response['output']).toMatchObject([
        { type: 'mcp_call', approval_request_id: request.id, output: 'Bought.', status: 'completed' },
        { type: 'message', content: [{ text: 'Done.' }] },
      ]);
      if ('match' in settings) return;
      const next = await run({ previous_response_id: bought.response.id, input: 'And now?' });
      expect(next.response['output']).toMatchObject([{ type: 'message', content: [{ text: 'Next.' }] }]);
    },
  );

  it('an approval that was not asked for, or is answered again, is refused and takes no turn of the script', async () => {
    const turns = [{ steps: [{ mcp: BUY }, { text: 'Done.' }] }, { text: 'Next.' }];
    await using service = await startWithScripts({ 'played.yaml': { turns } });
    const run = (body: object) => transport.run(service, { model: 'played', ...body });
    const asked = await run({ input: 'Buy.' });
    const request = (asked.response['output'] as { id: string }[]).at(-1) ?? { id: '' };
    const refusal = async (parent: unknown, given: { readonly id: string }): Promise<unknown> => {
      const body = { model: 'played', previous_response_id: parent, input: [answer(given, true)] };
      return service
        .client()
        .responses.create(body as never)
        .catch((error: unknown) => error);
    };
    const param = 'input[0].approval_request_id';
    for (const id of ['mcpr_x', request.id.slice(0, -4), `mcpr_${'0'.repeat(32)}`]) {
      const message = expect.stringContaining(`No approval request found with the id '${id}'.`);
      expect(await refusal(asked.response.id, { id })).toMatchObject({ status: 400, param, message });
    }
    const bought = await run({ previous_response_id: asked.response.id, input: [answer(request, true)] });
    const message = expect.stringContaining('was answered before');
    expect(await refusal(bought.response.id, request)).toMatchObject({ status: 400, param, message });
    const next = await run({ previous_response_id: bought.response.id, input: 'And now?' });
    expect(next.response['output']).toMatchObject([{ type: 'message', content: [{ text: 'Next.' }] }]);
  });

  it('a turn leaves out the call that is not approved', async () => {
    const play = await addScript(service, transport, { turns: [{ mcp: BUY, text: 'Well.' }] });
    const asked = await play({ input: 'Buy.' });
    const [list, request] = asked.response['output'] as [{ id: string }, { id: string }];
    // As stateless clients do it: everything is sent again.
    const input = [{ role: 'user', content: 'Buy.' }, list, request, answer(request, false)];
    const { response } = await play({ input });
    expect(response['output']).toMatchObject([{ type: 'message', content: [{ text: 'Well.' }] }]);
  });

  it('an approval is asked for each of several calls', async () => {
    const steps = [{ mcp: BUY }, { mcp: { ...BUY, output: 'Another.' } }, { text: 'Both.' }];
    const play = await addScript(service, transport, { turns: [{ steps }], on_exhausted: 'error' });
    let { response } = await play({ input: 'Buy two.' });
    const seen: (readonly string[])[] = [typesOf(response['output'])];
    for (let call = 0; call < 2; call++) {
      const request = (response['output'] as { id: string }[]).at(-1) ?? { id: '' };
      const body = { previous_response_id: response.id, input: [answer(request, true)] };
      ({ response } = await play(body));
      seen.push(typesOf(response['output']));
    }
    expect(seen).toEqual([
      ['mcp_list_tools', 'mcp_approval_request'],
      ['mcp_call', 'mcp_approval_request'],
      ['mcp_call', 'message'],
    ]);
    expect(JSON.stringify(response['output'])).toContain('Another.');
  });
});

describe('the SDKs with hosted tools of a script', () => {
  const service = useService(() => {
    const buy = { server: 'shop', tool: 'buy', arguments: { sku: 1 }, output: 'Bought.', approval: true };
    return startWithScripts({
      'shop.yaml': { match: 'last_user_message', turns: [{ when: 'buy', mcp: buy, text: 'Done.' }] },
      'all.yaml': { turns: [{ steps: LINES.map(([line]) => line) }] },
    });
  });

  it('the final response of the OpenAI SDK has the items of its types for the hosted tools of a script', async () => {
    const stream = service.client().responses.stream({ model: 'all', input: 'Go.', include: [...include] });
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject(LINES.map(([, item]) => item));
    const [search] = output as [OpenAI.Responses.ResponseFunctionWebSearch];
    expect(search.action.type).toBe('search');
  });

  it.each([
    ['approved', true, ['mcp_approval_request', 'mcp_call']],
    ['rejected', false, ['mcp_approval_request']],
  ])('an approval interrupts an agent of the Agents SDK, which goes on when it is %s', async (_, isApproved, calls) => {
    const modelProvider = new OpenAIProvider({ openAIClient: service.client(), useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const tools = [
      hostedMcpTool({ serverLabel: 'shop', serverUrl: 'https://shop.example/mcp', requireApproval: 'always' }),
    ];
    const agent = new Agent({ name: 'Buyer', model: 'shop', tools });
    try {
      const first = await runner.run(agent, 'Please buy it.');
      expect(first.interruptions).toHaveLength(1);
      const [asked] = first.interruptions as [RunToolApprovalItem];
      if (isApproved) first.state.approve(asked);
      else first.state.reject(asked);
      const last = await runner.run(agent, first.state);
      expect(last.finalOutput).toBe('Done.');
      const named = last.rawResponses.flatMap(({ output }) => output).map((item) => JSON.stringify(item));
      for (const type of ['mcp_approval_request', 'mcp_call']) {
        expect(named.some((text) => text.includes(`"${type}"`))).toBe(calls.includes(type));
      }
    } finally {
      await modelProvider.close();
    }
  });
});

function typesOf(output: unknown): readonly string[] {
  return (output as readonly { readonly type: string }[]).map(({ type }) => type);
}
