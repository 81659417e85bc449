import { describe, expect, it } from '@jest/globals';

import { useFreshService, useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import {
  customCall,
  functionCall,
  hosted,
  message,
  reasoning,
  type UpstreamItem,
} from '../support/responses-upstream/items.js';
import { streaming } from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  shareResponsesService,
  startResponsesService,
} from '../support/responses-upstream/start-responses-service.js';
import { type OwnEvents, toEvents } from '../support/responses-upstream/to-events.js';
import { SocketClient } from '../support/socket-client.js';
import type { TurnResult } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

// Each test has it load what it needs.
const load = shareResponsesService();

type Member = Readonly<Record<string, unknown>>;

const CITATION = { type: 'url_citation', url: 'https://example.com', title: 'Example', start_index: 0, end_index: 5 };
const LOGPROBS = [
  { token: 'Hel', logprob: -0.1, bytes: [72, 101, 108], top_logprobs: [{ token: 'Hel', logprob: -0.1, bytes: [72] }] },
  { token: 'lo', logprob: -0.2, bytes: [108, 111], top_logprobs: [] },
];

/** Output items that an upstream may send, with what is special about each. */
const ITEMS: readonly (readonly [name: string, item: UpstreamItem])[] = [
  ['a message', message('Hello')],
  ['a message with a phase', message('Hello', { phase: 'commentary' })],
  [
    'a message with annotations',
    message('', { content: [{ type: 'output_text', text: 'Hello', annotations: [CITATION], logprobs: [] }] }),
  ],
  [
    'a message with logprobs',
    message('', { content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: LOGPROBS }] }),
  ],
  ['a refusal', message('', { content: [{ type: 'refusal', refusal: 'I would rather not.' }] })],
  [
    'a message with two parts',
    message('', {
      content: [
        { type: 'output_text', text: 'Hello', annotations: [], logprobs: [] },
        { type: 'output_text', text: ' again', annotations: [], logprobs: [] },
      ],
    }),
  ],
  ['an empty message', message('', { content: [] })],
  ['a message with members of tomorrow', message('Hello', { mood: { is: 'good' } })],
  ['reasoning with summaries', reasoning(['Hm, well.', 'So be it.'])],
  ['hidden reasoning with encrypted content', reasoning([], { encrypted_content: 'sealed' })],
  [
    'raw reasoning',
    reasoning([], { content: [{ type: 'reasoning_text', text: 'I think.' }], encrypted_content: 'sealed' }),
  ],
  ['a function call', functionCall('get_weather', { city: 'Paris' })],
  ['a function call of a namespace', functionCall('get_weather', { city: 'Paris' }, { namespace: 'weather' })],
  ['a function call without arguments', functionCall('now', '{}')],
  ['a custom call', customCall('apply_patch', '*** Begin Patch\n*** End Patch')],
  ['a web search', hosted('web_search_call', { action: { type: 'search', query: 'antiphon', sources: [] } })],
  ['a file search', hosted('file_search_call', { queries: ['antiphon'], results: null })],
  [
    'a code interpreter call',
    hosted('code_interpreter_call', {
      code: 'print(1)',
      container_id: 'cntr_1',
      outputs: [{ type: 'logs', logs: '1' }],
    }),
  ],
  ['an image', hosted('image_generation_call', { result: 'iVBORw0KGgo=', revised_prompt: 'A cat.' })],
  [
    'an MCP call',
    hosted('mcp_call', {
      server_label: 'docs',
      name: 'find',
      arguments: '{"q":"x"}',
      output: 'found',
      error: null,
      approval_request_id: null,
    }),
  ],
  [
    'a list of MCP tools',
    hosted('mcp_list_tools', { server_label: 'docs', tools: [{ name: 'find', input_schema: {} }] }),
  ],
  ['an MCP approval request', hosted('mcp_approval_request', { server_label: 'docs', name: 'drop', arguments: '{}' })],
  [
    'a computer call',
    hosted('computer_call', { call_id: 'call_c', action: { type: 'click' }, pending_safety_checks: [] }),
  ],
  ['a compaction', hosted('compaction', { encrypted_content: 'sealed', status: undefined })],
  ['an item of tomorrow', hosted('item_of_tomorrow', { secret: { sauce: 7 } })],
];

describe.each([
  ['SSE', {}],
  ['WebSocket', { supports_websockets: true }],
] as const)('an upstream over %s', (_, entry) => {
  const service = useService(() => startResponsesService({ entry }));

  describe.each(TRANSPORTS)('passes items to clients of $name', (transport) => {
    it.each(ITEMS)('the service passes the item of an upstream on untouched: %s', async (__, item) => {
      service.upstream.say(item);
      const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
      expect(response['output']).toEqual([withoutUndefined(item)]);
    });
  });

  it('an upstream passes its items to clients that retrieve the response', async () => {
    const items = ITEMS.map(([, item]) => item);
    service.upstream.say(...items);
    const { response } = await ask(service);
    const { body } = await service.api.get(`responses/${response.id}`);
    expect(body['output']).toEqual(items.map(withoutUndefined));
  });

  it.each(ITEMS)('an upstream gets back what a client with store: false replays: %s', async (__, item) => {
    service.upstream.say(item);
    const input = [{ type: 'message', role: 'user', content: 'Hi' }];
    const { response } = await ask(service, { store: false, input });
    const outputs = ['function_call', 'custom_tool_call', 'computer_call'].includes(item.type)
      ? [{ type: `${item.type}_output`, call_id: item['call_id'], output: outputOf(item) }]
      : [];
    const replayed = [...input, ...(response['output'] as readonly Member[]), ...outputs];
    await ask(service, { store: false, input: replayed });
    const replay = service.upstream.lastCall.context as readonly Member[];
    const back = replay.find(({ type, id }) => type === item.type && id === item.id);
    // Reasoning without its content says nothing to a server that stores nothing.
    if (item.type === 'reasoning' && !('encrypted_content' in item)) expect(back).toBeUndefined();
    else expect(back).toEqual(withoutUndefined(item));
  });

  it('an upstream keeps its own numbers: ids of the response, indexes and sequence numbers are of this service', async () => {
    service.upstream.say(reasoning(['Hm.']), message('Hello'), functionCall('f'));
    const { response, events = [] } = await ask(service);
    expect(response.id).not.toBe(service.upstream.lastCall.responseId);
    expect(response.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((__, position) => position));
    expect(JSON.stringify(events)).not.toContain(service.upstream.lastCall.responseId);
    expect(response['model']).toBe(MODEL);
  });

  it.each<[name: string, response: object, expected: object]>([
    [
      'usage',
      {},
      {
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 18,
        },
      },
    ],
    ['service_tier', { service_tier: 'priority' }, { service_tier: 'priority' }],
  ])('an upstream says its %s', async (__, response, expected) => {
    service.upstream.answer([message('Hello')], { response });
    expect((await ask(service)).response).toMatchObject(expected);
  });

  it.each(['max_output_tokens', 'content_filter', 'max_messages', 'reason_of_tomorrow'])(
    'an upstream says why an answer is incomplete: %s',
    async (reason) => {
      const response = { incomplete_details: { reason } };
      service.upstream.answer([message('Hello')], { terminal: 'response.incomplete', response });
      const result = await ask(service);
      expect(result.response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
      expect(service.upstream.calls.length).toBeGreaterThan(0);
    },
  );
});

function outputOf({ type }: UpstreamItem): unknown {
  return type === 'computer_call'
    ? { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    : 'x';
}

function withoutUndefined(item: UpstreamItem): unknown {
  return JSON.parse(JSON.stringify(item));
}

/** Events of items that are not made of text. */
const HOSTED_EVENTS: readonly (readonly [item: UpstreamItem, events: OwnEvents[string]])[] = [
  [
    hosted('web_search_call', { action: { type: 'search', query: 'x' } }),
    ['in_progress', 'searching', 'completed'].map((name) => ({ type: `response.web_search_call.${name}` })),
  ],
  [
    hosted('mcp_call', { server_label: 'docs', name: 'find', arguments: '{"q":1}', output: 'x', error: null }),
    [
      { type: 'response.mcp_call.in_progress' },
      { type: 'response.mcp_call_arguments.delta', delta: '{"q":1}' },
      { type: 'response.mcp_call_arguments.done', arguments: '{"q":1}' },
      { type: 'response.mcp_call.completed' },
    ],
  ],
  [
    hosted('image_generation_call', { result: 'iVBORw0KGgo=' }),
    [
      { type: 'response.image_generation_call.in_progress' },
      { type: 'response.image_generation_call.generating' },
      { type: 'response.image_generation_call.partial_image', partial_image_b64: 'iVBO', partial_image_index: 0 },
      { type: 'response.image_generation_call.completed' },
    ],
  ],
];

describe('events within items of hosted tools', () => {
  const service = useFreshService(() => load());

  it.each(HOSTED_EVENTS)(
    'events within items of hosted tools reach the client with its indexes: %j',
    async (item, own) => {
      service.upstream.answer([message('First'), item], { events: { [item.type]: own } });
      const { events = [] } = await ask(service);
      const seen = events.filter(({ type }) => own.some((event) => event.type === type));
      expect(seen).toMatchObject(own.map((event) => ({ ...event, output_index: 1, item_id: item.id })));
    },
  );

  it.each(['web_search', 'file_search', 'code_interpreter', 'image_generation', 'mcp'])(
    'events within items of hosted tools come of tools that are not refused any more: %s',
    async (type) => {
      const tool = {
        type,
        ...(type === 'mcp' ? { server_label: 'docs', server_url: 'https://example.com/mcp' } : {}),
        ...(type === 'file_search' ? { vector_store_ids: ['vs_1'] } : {}),
        ...(type === 'code_interpreter' ? { container: { type: 'auto' } } : {}),
      };
      await ask(service, { tools: [tool] });
      expect(service.upstream.lastCall.body['tools']).toEqual([tool]);
    },
  );
});

describe('events that are not of the protocol', () => {
  const observer = new RecordingObserver();
  const service = useFreshService(() => startResponsesService({ imports: [observer.asModule()] }));

  const FOREIGN = { type: 'codex.of_tomorrow', secret: { sauce: 7 } };
  const answer = (): void => {
    service.upstream.respond(({ responseId }) => {
      const events = toEvents(responseId, [message('Hello')]);
      return streaming(events.flatMap((event) => [event, FOREIGN]).slice(0, -1));
    });
  };

  it('events that are not of the protocol reach sockets, where they are among the others', async () => {
    answer();
    await using client = await SocketClient.open(service);
    client.create({ model: MODEL, input: 'Hi', stream_id: 'lane' });
    const events: Member[] = [];
    while (events.at(-1)?.['type'] !== 'response.completed') events.push(await client.next());
    const foreign = events.filter(({ type }) => type === FOREIGN.type);
    expect(foreign.length).toBeGreaterThan(3);
    expect(foreign[0]).toEqual({ ...FOREIGN, stream_id: 'lane' });
  });

  it("events that are not of the protocol do not reach SSE, where the SDK's responses.stream() would throw, and are counted", async () => {
    answer();
    const before = observer.records.length;
    const stream = service.client().responses.stream({ model: MODEL, input: 'Hi' });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    expect(types).not.toContain(FOREIGN.type);
    expect((await stream.finalResponse()).output_text).toBe('Hello');
    const records = await observer.whenSettled(before + 1);
    expect(records.at(-1)?.droppedEvents).toBeGreaterThan(3);
  });

  it('events that are not of the protocol do not pass for events of the response', async () => {
    service.upstream.respond(({ responseId }) => {
      const [created, ...rest] = toEvents(responseId, [message('Hello')]);
      const forged = [
        { type: 'response.queued', response: { id: 'resp_forged' } },
        { type: 'response.in_progress', response: { id: 'resp_forged' } },
      ];
      return streaming([...(created === undefined ? [] : [created]), ...forged, ...rest]);
    });
    await using client = await SocketClient.open(service);
    const { events = [] }: TurnResult = await client.turn({ model: MODEL, input: 'Hi' });
    expect(JSON.stringify(events)).not.toContain('resp_forged');
  });
});
