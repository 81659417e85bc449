import { describe, expect, it } from '@jest/globals';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

const PIXEL = 'iVBORw0KGgo=';

/** What each item is to a chat model: the content of the message in front of the next one of the user. */
const ITEMS: readonly (readonly [item: ResponseInputItem, content: unknown])[] = [
  [
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: {
        type: 'search',
        query: 'tide',
        queries: ['tide', 'moon'],
        sources: [{ type: 'url', url: 'https://a.example' }],
      },
    },
    'The web was searched for "tide", "moon".\nhttps://a.example',
  ],
  [
    { type: 'web_search_call', id: 'ws_1', status: 'failed', action: { type: 'open_page', url: 'https://a.example' } },
    'The web page https://a.example was opened (failed).',
  ],
  [
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'find_in_page', url: 'https://a.example', pattern: 'ebb' },
    },
    '"ebb" was looked for in https://a.example.',
  ],
  [
    {
      type: 'file_search_call',
      id: 'fs_1',
      status: 'completed',
      queries: ['notice'],
      results: [{ file_id: 'file_1', filename: 'lease.pdf', score: 0.9, text: 'Three months.' }],
    },
    'Files were searched for "notice".\n[lease.pdf] Three months.',
  ],
  [
    {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: 'print(6 * 7)',
      container_id: 'cntr_1',
      outputs: [
        { type: 'logs', logs: '42' },
        { type: 'image', url: 'https://a.example/plot.png' },
      ],
    },
    'This code was run:\nprint(6 * 7)\n42\nImage: https://a.example/plot.png',
  ],
  [
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PIXEL },
    [
      { type: 'text', text: 'An image was made.' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
    ],
  ],
  [
    {
      type: 'mcp_approval_request',
      id: 'mcpr_1',
      server_label: 'bank',
      name: 'pay',
      arguments: '{"sum":5}',
    },
    'Approval was asked for a call of pay of the MCP server bank: {"sum":5}',
  ],
  [
    { type: 'program', id: 'prg_1', call_id: 'call_1', code: 'tools.look()', fingerprint: 'f' },
    'This program was run:\ntools.look()',
  ],
  [
    { type: 'program_output', id: 'prgo_1', call_id: 'call_1', result: 'seen', status: 'incomplete' },
    'The output of the program (incomplete):\nseen',
  ],
  // No type of the SDK: of the beta, and of nobody.
  [
    {
      type: 'multi_agent_call',
      id: 'ma_1',
      call_id: 'call_1',
      action: 'spawn_agent',
      arguments: '{"task":"look"}',
    } as never,
    'Agents: spawn_agent {"task":"look"}',
  ],
  [
    {
      type: 'multi_agent_call_output',
      id: 'mao_1',
      call_id: 'call_1',
      action: 'spawn_agent',
      output: [{ type: 'output_text', text: 'Started.', annotations: [] }],
    } as never,
    'Agents, output of spawn_agent:\nStarted.',
  ],
  [{ type: 'hologram', id: 'holo_1', depth: 3 } as never, 'An item of type hologram:\n{"depth":3}'],
];

const service = useService(() => startChatService());

async function messagesFor(
  input: readonly ResponseInputItem[],
  conversation?: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await service.client().responses.create({ model: 'tested', input: [...input], conversation });
  return service.upstream.requests.at(-1)?.body.messages ?? [];
}

const ASK = { type: 'message', role: 'user', content: 'And now?' } as const;

describe('a chat model that takes a conversation over', () => {
  it.each(ITEMS.map(([item, content]) => [item.type, item, content] as const))(
    'a chat model reads a %s of the history, also of a stored conversation',
    async (_, item, content) => {
      const expected = [
        { role: 'user', content: 'First.' },
        { role: 'user', content },
        { role: 'assistant', content: 'So it is.' },
        { role: 'user', content: 'And now?' },
      ];
      const first = { type: 'message', role: 'user', content: 'First.' } as const;
      const said = { type: 'message', role: 'assistant', content: 'So it is.' } as const;
      expect(await messagesFor([first, item, said, ASK])).toEqual(expected);
      const { id } = await service.client().conversations.create({ items: [first, item, said] });
      expect(await messagesFor([ASK], id)).toEqual(expected);
    },
  );

  it('a chat model reads what the computer did, with its screen', async () => {
    const call = { type: 'computer_call', id: 'cu_1', call_id: 'call_1', status: 'completed' } as const;
    const action = { type: 'click', button: 'left', x: 1, y: 2 } as const;
    const url = `data:image/png;base64,${PIXEL}`;
    const output = { type: 'computer_screenshot', image_url: url } as const;
    const items: readonly ResponseInputItem[] = [
      { ...call, action, pending_safety_checks: [] },
      { type: 'computer_call_output', call_id: 'call_1', output },
    ];
    expect(await messagesFor([...items, ASK])).toMatchObject([
      { role: 'user', content: `The computer was used: ${JSON.stringify(action)}` },
      { role: 'user', content: [{ text: 'The screen of the computer:' }, { image_url: { url } }] },
      { role: 'user' },
    ]);
  });

  it.each([
    [{ approve: true }, 'The call was approved.'],
    [{ approve: false, reason: 'Too much.' }, 'The call was denied: Too much.'],
  ])('a chat model reads how an approval was answered: %j', async (answer, content) => {
    const request = {
      type: 'mcp_approval_request',
      id: 'mcpr_1',
      server_label: 's',
      name: 'pay',
      arguments: '{}',
    } as const;
    const response = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', ...answer } as const;
    expect((await messagesFor([request, response, ASK]))[1]).toEqual({ role: 'user', content });
  });

  it('a chat model reads reasoning with the answer, behind the search that stands between them', async () => {
    const input = [
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'tide' } },
      { type: 'message', role: 'assistant', content: 'At six.' },
      ASK,
    ] as const;
    const messages = await messagesFor(input as never);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[1]).toMatchObject({ content: 'At six.' });
  });

  it.each(['mcp_list_tools', 'tool_search_call'])('a chat model reads no %s: it defines tools', async (type) => {
    const item = { type, id: 'x_1', server_label: 's', tools: [], arguments: {} } as never;
    expect(await messagesFor([item, ASK])).toEqual([{ role: 'user', content: 'And now?' }]);
  });

  it('a chat model reads that there was an image if it takes none', async () => {
    await using blind = await startChatService({ provider: { capabilities: { images: false } } });
    const made = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PIXEL } as const;
    await blind.client().responses.create({ model: 'tested', input: [made, ASK] });
    expect(blind.upstream.requests[0]?.body).toMatchObject({
      messages: [{ content: 'An image was made.\n(input_image, not supported by this model)' }, {}],
    });
  });
});
