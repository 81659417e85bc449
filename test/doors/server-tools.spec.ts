import type Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { readEnvironment } from '../../src/config/index.js';
import type { ModelEvent } from '../../src/index.js';
import { FakeMcpServer, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { call, say, search } from '../support/scripted-calls.js';
import { startService } from '../support/service.js';
import { anthropic, HELLO, LOOK } from './anthropic.js';

const engine = await FakeSearxng.start([{ title: 'Bees', url: 'https://bees.example/', content: 'Bees dance.' }]);
const server = await FakeMcpServer.start([
  { name: 'roll', description: 'Rolls dice.', handler: (): string => 'four' },
  { name: 'send', description: 'Sends a letter.' },
]);
const broken = await FakeMcpServer.start([
  { name: 'fail', handler: () => ({ content: [{ type: 'text', text: 'no dice' }], isError: true }) },
]);
const SENDS = { always: { tool_names: ['send'] } };
const path = await writeMcpServers({
  dice: { url: server.url },
  broken: { url: broken.url },
  post: { url: server.url, require_approval: SENDS },
});

afterAll(async () => {
  await server.close();
  await broken.close();
  await engine.close();
});

const TOOLS = { MCP_SERVERS: path, WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url };
const CHAT = { model: 'scripted', messages: [{ role: 'user' as const, content: 'Hi' }] };

const roll: readonly ModelEvent[] = [
  { type: 'function_call', name: 'dice__roll', callId: 'call_1', key: 'a' },
  { type: 'function_call_arguments', delta: '{}', key: 'a' },
  { type: 'end', key: 'a' },
];

const offered = ({ provider }: { readonly provider: ScriptedProvider }): readonly unknown[] =>
  (provider.turns[0]?.settings.tools ?? []).map((tool) => (tool as { readonly name?: string }).name ?? tool.type);

describe('tools of DOOR_TOOLS', () => {
  const service = useService(() =>
    startService({ environment: { ...TOOLS, DOOR_TOOLS: 'web_search,mcp:dice' }, providers: [ScriptedProvider] }),
  );
  beforeEach(() => void (service.provider.turns.length = 0));

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('tools of DOOR_TOOLS are run for every message, and not seen in one that is %s', async (_, stream) => {
    service.provider
      .reply(...roll)
      .reply(...search('bee dance'))
      .reply(...say('Four bees.'));
    const { messages } = anthropic(service);
    const message = await (stream ? messages.stream(HELLO).finalMessage() : messages.create(HELLO));
    expect(message).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text', text: 'Four bees.' }] });
    expect(service.provider.turns).toHaveLength(3);
  });

  it.each([
    ['whole', false],
    ['streamed', true],
  ])(
    'tools of DOOR_TOOLS are run for every completion, beside the tools of its client, and not seen in one that is %s',
    async (_, stream) => {
      service.provider.reply(...roll).reply(...say('Four.'));
      const { completions } = service.client().chat;
      const tools = [{ type: 'function' as const, function: { name: 'look', parameters: LOOK.input_schema } }];
      const request = { ...CHAT, tools };
      const completion = await (stream
        ? completions.stream(request).finalChatCompletion()
        : completions.create(request));
      expect(completion.choices).toMatchObject([{ message: { content: 'Four.' }, finish_reason: 'stop' }]);
      expect(completion.choices[0]?.message.tool_calls ?? []).toEqual([]);
      expect(offered(service)).toEqual(expect.arrayContaining(['look']));
    },
  );

  it('tools of DOOR_TOOLS are those of a request that names them itself', async () => {
    service.provider.reply(...search('bee dance')).reply(...say('Bees.'));
    const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 1 }];
    const message = await anthropic(service).messages.create({ ...HELLO, tools });
    expect(message.content.map(({ type }) => type)).toEqual(['server_tool_use', 'web_search_tool_result', 'text']);
    expect(service.provider.turns.at(-1)?.settings.max_tool_calls).toBe(1);
  });

  it('tools of DOOR_TOOLS count in the tokens of a request', async () => {
    const { max_tokens: _, ...counted } = HELLO;
    const { input_tokens: tokens } = await anthropic(service).messages.countTokens(counted);
    expect(tokens).toBeGreaterThan(20);
  });

  it.each([
    ['shell', /entry 1 is neither web_search nor mcp:<server>/],
    ['mcp:dice', /needs MCP_SERVERS/],
  ])('tools of DOOR_TOOLS are refused at the start: %s', (DOOR_TOOLS, says) => {
    expect(() => readEnvironment({ DOOR_TOOLS })).toThrow(says);
  });
});

describe('tools whose calls the operator wants approved', () => {
  const service = useService(() =>
    startService({ environment: { ...TOOLS, DOOR_TOOLS: 'mcp:post' }, providers: [ScriptedProvider] }),
  );
  beforeEach(() => void (service.provider.turns.length = 0));

  it.each([
    ['a message', () => anthropic(service).messages.create(HELLO)],
    ['a completion', () => service.client().chat.completions.create(CHAT)],
    [
      'a message that names their server',
      () => anthropic(service).messages.create({ ...HELLO, mcp_servers: [{ type: 'url', name: 'post' }] } as never),
    ],
  ])(
    'tools whose calls the operator wants approved are not offered for %s, since its client cannot approve',
    async (_, ask) => {
      service.provider.reply(...say('Well.'));
      await ask();
      expect(offered(service)).toEqual(['post__roll']);
    },
  );

  it('tools whose calls the operator wants approved are offered for a response, whose client can', async () => {
    service.provider.reply(...say('Well.'));
    await service.client().responses.create({
      ...{ model: 'scripted', input: 'Hi' },
      tools: [{ type: 'mcp', server_label: 'post', require_approval: 'never' }],
    });
    expect(offered(service)).toEqual(['post__roll', 'post__send']);
  });
});

describe('the mcp_servers of a message', () => {
  const service = useService(() => startService({ environment: TOOLS, providers: [ScriptedProvider] }));
  beforeEach(() => void (service.provider.turns.length = 0));

  const ask = (members: object): Promise<Anthropic.Message> =>
    anthropic(service).messages.create({ ...HELLO, ...members });

  const USE = { type: 'mcp_tool_use', id: expect.stringMatching(/^mcptoolu_[0-9a-f]{32}$/), server_name: 'dice' };

  it.each([
    ['whole', false],
    ['streamed', true],
  ])(
    'the mcp_servers of a message are asked without approval, and their calls shown in an answer that is %s',
    async (_, stream) => {
      service.provider
        .reply(...roll)
        .reply(...call('dice__send', { to: 'Ann' }))
        .reply(...say('Four.'));
      const { messages } = anthropic(service).beta;
      const request = { ...HELLO, mcp_servers: [{ type: 'url' as const, name: 'dice' } as never] };
      const message = await (stream ? messages.stream(request).finalMessage() : messages.create(request));
      const [first, , second] = message.content as readonly { readonly id?: string }[];
      expect(message.content).toEqual([
        { ...USE, name: 'roll', input: {} },
        {
          type: 'mcp_tool_result',
          tool_use_id: first?.id,
          is_error: false,
          content: [{ type: 'text', text: 'four', citations: null }],
        },
        { ...USE, name: 'send', input: { to: 'Ann' } },
        {
          type: 'mcp_tool_result',
          tool_use_id: second?.id,
          is_error: false,
          content: [expect.objectContaining({ text: '{"to":"Ann"}' })],
        },
        { type: 'text', text: 'Four.', citations: null },
      ]);
      expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { server_tool_use: null } });
    },
  );

  it('the mcp_servers of a message have called what the client sends back: the model reads it with or without the server', async () => {
    service.provider.reply(...roll).reply(...say('Four.'));
    const mcp = { mcp_servers: [{ type: 'url', name: 'dice' }] };
    const { content } = await ask(mcp);
    const failed = [
      { type: 'mcp_tool_use', id: 'mcptoolu_other', name: 'send', server_name: 'dice', input: { to: 'Eve' } },
      { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_other', is_error: true, content: 'No such person.' },
    ];
    const messages = [
      ...HELLO.messages,
      { role: 'assistant', content: [...content, ...failed] },
      { role: 'user', content: 'Again.' },
    ];
    for (const members of [mcp, {}]) {
      service.provider.reply(...say('Yes.'));
      await ask({ ...members, messages });
    }
    const read = service.provider.turns.slice(-2).map(({ context }) => JSON.stringify(context));
    for (const text of read) expect(text).toMatch(/roll.*four.*Four\..*send.*Eve.*No such person\..*Again\./s);
  });

  it('the mcp_servers of a message may fail a call, whose result says so', async () => {
    service.provider.reply(...call('broken__fail', {})).reply(...say('It fails.'));
    const message = await ask({ mcp_servers: [{ type: 'url', name: 'broken' }] });
    expect(message.content.slice(0, 2)).toMatchObject([
      { type: 'mcp_tool_use', name: 'fail' },
      { type: 'mcp_tool_result', is_error: true, content: [{ text: expect.stringContaining('no dice') }] },
    ]);
  });

  it.each([
    [
      'by its configuration',
      { mcp_servers: [{ type: 'url', name: 'dice', tool_configuration: { allowed_tools: ['roll'] } }] },
    ],
    [
      'by a set of tools',
      {
        mcp_servers: [{ type: 'url', name: 'dice' }],
        tools: [
          {
            type: 'mcp_toolset',
            mcp_server_name: 'dice',
            default_config: { enabled: false },
            configs: { roll: { enabled: true }, send: { enabled: false } },
          },
        ],
      },
    ],
    [
      'by a set of tools in which a tool has no more than the default',
      {
        mcp_servers: [{ type: 'url', name: 'dice' }],
        tools: [
          {
            type: 'mcp_toolset',
            mcp_server_name: 'dice',
            default_config: { enabled: false },
            configs: { roll: { enabled: true }, send: { defer_loading: false } },
          },
        ],
      },
    ],
  ])('the mcp_servers of a message offer only the tools that are allowed %s', async (_, members) => {
    service.provider.reply(...say('Well.'));
    await ask(members);
    const names = JSON.stringify(service.provider.turns[0]);
    expect(names).toContain('dice__roll');
    expect(names).not.toContain('dice__send');
  });

  it.each([
    ['another server', 'tools[0].mcp_server_name', [{ type: 'mcp_toolset', mcp_server_name: 'cards' }]],
    [
      'all tools but one',
      "'send' cannot be left out",
      [{ type: 'mcp_toolset', mcp_server_name: 'dice', configs: { send: { enabled: false } } }],
    ],
  ])('the mcp_servers of a message are refused with a set of %s', async (_, says, tools) => {
    const asked = ask({ mcp_servers: [{ type: 'url', name: 'dice' }], tools });
    await expect(asked).rejects.toThrow(says);
  });

  it('the mcp_servers of a message are refused beside a bound of searches, which would count their calls', async () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
    const asked = ask({ mcp_servers: [{ type: 'url', name: 'dice' }], tools: [search] });
    await expect(asked).rejects.toThrow(/'tools\[0\]\.max_uses' beside 'mcp_servers'/);
  });

  it('the mcp_servers of a message are refused in the terms of the request', async () => {
    const named = { type: 'url', name: 'not a name' };
    await expect(ask({ mcp_servers: [named], tools: [LOOK] })).rejects.toThrow(
      "Missing required parameter: 'mcp_servers[0].url'. This server knows no MCP server 'not a name'.\"",
    );
    const set = { type: 'mcp_toolset', mcp_server_name: 'not a name' };
    await expect(ask({ mcp_servers: [named], tools: [set, LOOK] })).rejects.toThrow(/mcp_servers\[0\]/);
    const off = { type: 'url', name: 'dice', tool_configuration: { enabled: false } };
    const wrong = { ...LOOK, name: 'no name' };
    const tools = [{ type: 'mcp_toolset', mcp_server_name: 'dice' }, wrong];
    await expect(ask({ mcp_servers: [off], tools })).rejects.toThrow(/tools\[1\]\.name/);
    const loose = [
      { type: 'mcp_toolset', mcp_server_name: 'dice' },
      { ...LOOK, strict: true },
    ];
    await expect(ask({ mcp_servers: [off], tools: loose })).rejects.toThrow(/tools\[1\]\.input_schema/);
  });

  it.each([
    [{ default_config: { enable: false } }, 'tools[0].default_config.enable'],
    [{ configs: { send: { enabled: 'false' } } }, 'tools[0].configs.send.enabled'],
  ])('the mcp_servers of a message are refused with a switch that cannot be read: %j', async (members, place) => {
    const tools = [{ type: 'mcp_toolset', mcp_server_name: 'dice', ...members }];
    await expect(ask({ mcp_servers: [{ type: 'url', name: 'dice' }], tools })).rejects.toThrow(place);
  });
});
