import { describe, expect, it } from '@jest/globals';

import { useFreshService, useService } from '../support/describe-service.js';
import { textsOf } from '../support/output.js';
import { functionCall, message, reasoning } from '../support/responses-upstream/items.js';
import {
  ask,
  MODEL,
  shareResponsesService,
  startResponsesService,
  UPSTREAM_KEY,
} from '../support/responses-upstream/start-responses-service.js';
import type { RequestBody } from '../support/responses-upstream/upstream-connection.js';
import { SocketClient } from '../support/socket-client.js';
import { JSON_TRANSPORT } from '../support/transports.js';

// Each test has it load what it needs.
const load = shareResponsesService();

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };

const CODEX_HEADERS = {
  'session-id': '0199a1f0-0000-7000-8000-000000000001',
  'thread-id': '0199a1f0-0000-7000-8000-000000000002',
};

describe.each([
  ['SSE', {}],
  ['WebSocket', { supports_websockets: true }],
] as const)('a request over %s', (_, entry) => {
  const service = useService(() => startResponsesService({ entry }));

  const body = (): RequestBody => service.upstream.lastCall.body;

  it("§2 a request goes to the entry's address with its key, query and headers", async () => {
    await using other = await startResponsesService({
      entry: { ...entry, query: { 'api-version': 'preview' }, headers: { 'x-team': 'blue' } },
    });
    await ask(other);
    const { url, headers } = other.upstream.lastCall;
    expect(url).toBe('/v1/responses?api-version=preview');
    expect(headers).toMatchObject({ authorization: `Bearer ${UPSTREAM_KEY}`, 'x-team': 'blue' });
  });

  it('§2 a request has what the client sent, under the name of the model at the upstream', async () => {
    const sent = {
      instructions: 'Be kind.',
      temperature: 0.5,
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }],
      parallel_tool_calls: false,
      tool_choice: 'auto',
      service_tier: 'flex',
      safety_identifier: 'someone',
    };
    await ask(service, sent);
    expect(body()).toMatchObject({ ...sent, model: 'upstream-model', stream: true, store: false });
    for (const own of ['background', 'conversation', 'session_id', 'stream_id', 'previous_response_id', 'generate']) {
      expect(body()).not.toHaveProperty(own);
    }
  });

  it('§2 a request has no defaults that the client did not state', async () => {
    await ask(service);
    for (const member of ['temperature', 'top_p', 'tools', 'text', 'max_output_tokens', 'metadata', 'truncation']) {
      expect(body()).not.toHaveProperty(member);
    }
  });

  it("§2.1 a request has the conversation's id as prompt_cache_key, the same in all its turns", async () => {
    const first = await ask(service, { input: 'One' });
    const key = body()['prompt_cache_key'];
    expect(key).toEqual(expect.any(String));
    await ask(service, { input: 'Two', previous_response_id: first.response.id });
    expect(body()['prompt_cache_key']).toBe(key);
    await ask(service, { input: 'Another' });
    expect(body()['prompt_cache_key']).not.toBe(key);
  });

  it("§2.1 a request keeps the client's prompt_cache_key", async () => {
    await ask(service, { prompt_cache_key: 'mine' });
    expect(body()['prompt_cache_key']).toBe('mine');
  });

  it('§4.1 a request has headers of session and thread, those of Codex as they came', async () => {
    await ask(service, {}, CODEX_HEADERS);
    expect(service.upstream.lastCall.headers).toMatchObject({
      ...CODEX_HEADERS,
      'x-client-request-id': CODEX_HEADERS['thread-id'],
    });
  });

  it('§4.1 a request has headers of session and thread for clients that have none', async () => {
    await ask(service);
    const { headers } = service.upstream.lastCall;
    expect(headers['session-id']).toEqual(expect.any(String));
    expect(headers['thread-id']).toEqual(expect.any(String));
  });

  it.each([
    ['json_schema', { format: { type: 'json_schema', name: 'codex_output_schema', strict: true, schema: SCHEMA } }],
    ['json_object', { format: { type: 'json_object' } }],
    ['verbosity', { verbosity: 'low' }],
    ['both', { verbosity: 'high', format: { type: 'json_schema', name: 'n', strict: false, schema: SCHEMA } }],
  ])('§2.2 a request has text as the client sent it: %s', async (__, text) => {
    await ask(service, { input: 'Hi, in JSON', text });
    expect(body()['text']).toEqual(text);
  });

  it('§2.3 a request has reasoning as the client sent it, and asks for its encrypted content', async () => {
    await ask(service, { reasoning: { effort: 'low', summary: 'auto' } });
    expect(body()).toMatchObject({ reasoning: { effort: 'low', summary: 'auto' } });
    expect(body()['include']).toContain('reasoning.encrypted_content');
    await ask(service, { reasoning: { effort: 'low', generate_summary: 'auto' } });
    expect(body()['reasoning']).toEqual({ effort: 'low', summary: 'auto' });
  });

  it('§2.3 a request asks for no encrypted content of a model that does not reason', async () => {
    await ask(service);
    expect(body()['include'] ?? []).not.toContain('reasoning.encrypted_content');
  });

  it('§2.3 a request continues a stored turn with its encrypted reasoning, which the client never saw', async () => {
    service.upstream.say(
      reasoning(['Hm.'], { encrypted_content: 'sealed', id: 'rs_0123456789abcdef0123' }),
      message('ok'),
    );
    const first = await ask(service, { input: 'One', reasoning: { effort: 'low' } });
    await ask(service, { input: 'Two', reasoning: { effort: 'low' }, previous_response_id: first.response.id });
    const [, thought] = service.upstream.lastCall.context as readonly object[];
    expect(thought).toMatchObject({ type: 'reasoning', encrypted_content: 'sealed', id: 'rs_0123456789abcdef0123' });
  });

  it('a request to an upstream has every item as the client sent it, of unknown types too', async () => {
    const input = [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
      },
      functionCall('f', { a: 1 }, { call_id: 'call_1' }),
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'done' }] },
      { type: 'compaction', encrypted_content: 'sealed', id: 'cmp_0123456789abcdef0123' },
      { type: 'item_of_tomorrow', id: 'tom_0123456789abcdef0123', secret: { sauce: 7 } },
    ];
    await ask(service, { input, store: false });
    expect(body().input).toMatchObject(input);
  });

  it("a request sends no ids of this service, and the upstream's own ones as they were", async () => {
    const said = message('Hello', { id: 'msg_1' });
    service.upstream.say(said);
    const first = await ask(service, { input: 'One' });
    const [answer] = first.response['output'] as readonly { readonly id: string }[];
    expect(answer?.id).toMatch(/^msg_[0-9a-f]{32}_msg_1$/);
    await service.upstream.sockets.at(-1)?.terminate();
    await ask(service, { input: 'Two', previous_response_id: first.response.id });
    const input = service.upstream.lastCall.context as readonly { readonly id?: string }[];
    expect(input.map(({ id }) => id)).toEqual([undefined, 'msg_1', undefined]);
  });

  it('a request sends members of tomorrow where the entry forwards them, and omits what the upstream refuses', async () => {
    await using other = await startResponsesService({
      entry: { ...entry, forward: ['new_member'], omit: ['safety_identifier'] },
    });
    await ask(other, { new_member: { a: 1 }, safety_identifier: 'someone' });
    expect(other.upstream.lastCall.body).toMatchObject({ new_member: { a: 1 } });
    expect(other.upstream.lastCall.body).not.toHaveProperty('safety_identifier');
  });

  it('a request sends the whole context of a continuation by reference of a JSON client', async () => {
    const first = await JSON_TRANSPORT.run(service, { model: MODEL, input: 'One' });
    await JSON_TRANSPORT.run(service, { model: MODEL, input: 'Two', previous_response_id: first.response.id });
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Two']);
  });
});

describe('§4.1 the handshake of a socket', () => {
  it.each([
    [{}, 'responses_websockets=2026-02-06', ['session-id', 'thread-id', 'x-client-request-id'], 'session_id'],
    [
      { profile: 'codex-2026-02', features: { responses_websockets: true } },
      'responses_websockets=2026-02-04',
      ['session_id'],
      'thread-id',
    ],
  ] as const)(
    'the handshake of a socket names the feature and the conversation: %j',
    async (entry, beta, names, absent) => {
      await using service = await load({ entry: { supports_websockets: true, ...entry } });
      await ask(service, { prompt_cache_key: 'conversation-one' });
      const { headers } = await service.upstream.socket();
      expect(headers).toMatchObject({ 'openai-beta': beta });
      for (const name of names) expect(headers[name]).toBe('conversation-one');
      expect(headers[absent]).toBeUndefined();
    },
  );

  it('a request over HTTP names nothing of the feature of sockets', async () => {
    await using service = await load();
    await ask(service);
    expect(service.upstream.lastCall.headers['openai-beta']).toBeUndefined();
  });
});

describe.each([{}, { supports_websockets: true }])('§2 half characters in a request, with %j', (entry) => {
  it('half characters in a request become U+FFFD, and others stay', async () => {
    await using service = await load({ entry });
    await ask(service, { input: 'a\ud83d b\\ud83d \u{1f600}' });
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['a\ufffd b\\ud83d \u{1f600}']);
  });
});

describe('§2.4 compressed requests', () => {
  it.each([
    [{ features: { enable_request_compression: true } }, 'zstd'],
    [{ features: { enable_request_compression: false } }, undefined],
    [{}, undefined],
  ])('requests over HTTP with %j have the encoding %s', async (entry, encoding) => {
    await using service = await load({ entry });
    const input = 'x'.repeat(10_000);
    await ask(service, { input });
    const { headers, bytes, context } = service.upstream.lastCall;
    expect(headers['content-encoding']).toBe(encoding);
    expect(textsOf(context)).toEqual([input]);
    expect(bytes < 2000).toBe(encoding === 'zstd');
  });
});

describe('turn state and metadata of a socket client', () => {
  const service = useFreshService(() => load({ entry: { supports_websockets: true } }));

  it('§4.1 turn state and metadata of a socket client take the place of headers, and client_metadata reaches the upstream', async () => {
    await using client = await SocketClient.open(service);
    const metadata = { ...CODEX_HEADERS, 'x-codex-turn-state': 'given before', other: 'kept' };
    await client.turn({ model: MODEL, input: 'Hi', client_metadata: metadata });
    expect((await service.upstream.socket()).headers).toMatchObject(CODEX_HEADERS);
    expect(service.upstream.lastCall.body['client_metadata']).toMatchObject({
      other: 'kept',
      'x-codex-turn-state': 'given before',
    });
  });
});
