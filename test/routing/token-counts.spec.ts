import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ApiClient } from '../support/api-client.js';
import { CountingUpstream, type CountReply } from './counting-upstream.js';
import { message } from '../support/responses-upstream/items.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import { useProvidersFile } from '../support/providers-file.js';
import { startService } from '../support/service.js';
import { ShiftedClock } from '../support/clocks.js';

const TOOL = { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
const REQUEST = {
  model: 'tested',
  instructions: 'Be brief.',
  input: [{ role: 'user', content: 'Where is the sea?' }],
  tools: [TOOL],
  truncation: 'auto',
};
/** A kind of server that can count. */
interface Counter {
  readonly name: string;
  readonly entry: object;
  readonly path: string;
  readonly body: object;
  readonly answer: object;
  /** Where it does not count. */
  readonly estimate: number;
}

const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Where is the sea?' },
];
const FUNCTION = {
  type: 'function',
  function: { name: 'look', description: 'Looks.', parameters: TOOL.parameters },
};

const COUNTERS: readonly Counter[] = [
  {
    name: 'responses',
    entry: { kind: 'responses', supports_websockets: false },
    path: '/v1/responses/input_tokens',
    body: {
      model: 'theirs',
      instructions: 'Be brief.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Where is the sea?' }] }],
      tools: [TOOL],
      truncation: 'auto',
    },
    answer: { object: 'response.input_tokens', input_tokens: 1234 },
    estimate: 42,
  },
  {
    name: 'vllm',
    entry: { dialect: 'vllm' },
    path: '/tokenize',
    body: { model: 'theirs', messages: MESSAGES, tools: [FUNCTION] },
    answer: { count: 1234, max_model_len: 4096, tokens: [1, 2, 3] },
    estimate: 30,
  },
  {
    name: 'llama.cpp',
    entry: { dialect: 'llama.cpp' },
    path: '/v1/chat/completions/input_tokens',
    body: { model: 'theirs', messages: MESSAGES, tools: [FUNCTION] },
    answer: { object: 'response.input_tokens', input_tokens: 1234 },
    estimate: 30,
  },
];

const clock = new ShiftedClock();
const { service, path, load } = useProvidersFile('providers.json', { overrides: [[Clock, clock]] });
let upstreams: CountingUpstream[];

beforeEach(async () => {
  upstreams = [await CountingUpstream.start(), await CountingUpstream.start()];
});

afterEach(() => Promise.all(upstreams.map((upstream) => upstream.close())));

/** The upstream of this place. */
function upstream(index = 0): CountingUpstream {
  const found = upstreams[index];
  if (found === undefined) throw new Error(`there is no upstream ${index}`);
  return found;
}

/** Puts the service in front of the upstreams. */
async function start(...entries: readonly object[]): Promise<ApiClient> {
  await load(fileOf(...entries));
  return service.api;
}

/** A file with a provider for each entry, and a model that all upstreams answer. */
function fileOf(...entries: readonly object[]): object {
  const named = entries.map((entry, index) => [
    `p${index}`,
    { base_url: `${upstream(index).origin}/v1`, discover: false, retries: 0, ...entry },
  ]);
  const targets = entries.map((_, index) => ({ provider: `p${index}`, model: 'theirs' }));
  const models = [{ name: 'tested', context_window: 100, upstreams: targets }];
  return { providers: Object.fromEntries(named) as object, models };
}

function count(api: ApiClient, over: object = {}): ReturnType<ApiClient['post']> {
  return api.post('responses/input_tokens', { ...REQUEST, ...over });
}

describe.each(COUNTERS)('an upstream of kind $name', ({ entry, path, body, answer, estimate }) => {
  it('an upstream counts the request that it would get', async () => {
    upstream().replies = [{ body: answer }];
    const counted = await count(await start(entry));
    expect(counted).toMatchObject({ status: 200, body: { object: 'response.input_tokens', input_tokens: 1234 } });
    expect(upstream().calls).toEqual([
      expect.objectContaining({ path, body: expect.objectContaining(body) as object }),
    ]);
    expect(Object.keys(upstream().calls[0]?.body ?? {})).toEqual(
      expect.not.arrayContaining(['stream', 'store', 'stream_options', 'max_output_tokens']),
    );
  });

  it.each<[name: string, reply: CountReply]>([
    ['404 of a router', { status: 404, body: { detail: 'Not Found' } }],
    ['405', { status: 405, body: '' }],
    ['501', { status: 501, body: {} }],
  ])('the count of an upstream is estimated, and it is left alone for a while, after %s', async (_, reply) => {
    upstream().replies = [reply];
    const api = await start(entry);
    expect((await count(api)).body).toEqual({ object: 'response.input_tokens', input_tokens: estimate });
    upstream().replies = [{ body: answer }];
    expect((await count(api)).body['input_tokens']).toBe(estimate);
    expect(upstream().calls).toHaveLength(1);
    clock.skip(11 * 60_000);
    expect((await count(api)).body['input_tokens']).toBe(1234);
  });

  it.each<[name: string, body: object | string]>([
    ['a page', '<html></html>'],
    ['no number', { input_tokens: -1 }],
  ])('the count of an upstream is estimated once after 200 with %s', async (_, odd) => {
    upstream().replies = [{ body: odd }, { body: answer }];
    const api = await start(entry);
    expect((await count(api)).body['input_tokens']).toBe(estimate);
    expect((await count(api)).body['input_tokens']).toBe(1234);
  });

  it('an upstream says why it refused to count', async () => {
    upstream().replies = [
      { status: 429, body: { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } } },
      { status: 404, body: { error: { message: 'The model `theirs` does not exist.', code: 'model_not_found' } } },
      { status: 400, body: { error: { message: 'No such tool.', code: 'invalid_value', param: 'tools' } } },
      { status: 500, body: {} },
    ];
    const api = await start(entry);
    const codes = [];
    for (let number = 0; number < 4; number += 1) {
      const { status, body: refusal } = await count(api);
      codes.push([status, (refusal['error'] as { readonly code: unknown }).code]);
    }
    expect(codes).toEqual([
      [429, 'rate_limit_exceeded'],
      [404, 'model_not_found'],
      [400, 'invalid_value'],
      [500, 'server_error'],
    ]);
  });

  it('the count of an upstream is estimated when the context is too long for it', async () => {
    upstream().replies = [{ status: 400, body: { error: { message: 'Too long.', code: 'context_length_exceeded' } } }];
    await expect(count(await start(entry))).resolves.toMatchObject({ status: 200 });
  });

  it('the count of an upstream is not waited for when the client has left', async () => {
    upstream().replies = ['hang'];
    const { baseURL } = await start(entry);
    const client = new AbortController();
    const answering = fetch(`${baseURL}/responses/input_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(REQUEST),
      signal: client.signal,
    });
    await upstream().asked.promise;
    client.abort();
    await expect(answering).rejects.toThrow('aborted');
    await upstream().left.promise;
  });

  it('the count is asked of the next upstream where the first one fails', async () => {
    const api = await start(entry, entry);
    await upstream(0).close();
    const counted = await count(api);
    expect(counted).toMatchObject({ status: 200, body: { input_tokens: 1234 } });
    await upstream(1).close();
    await expect(count(api)).resolves.toMatchObject({
      status: 503,
      body: { error: { code: 'model_unavailable' } },
    });
  });
});

it('the service does not ask an upstream of kind responses for the counts of turns', async () => {
  const api = await start({ kind: 'responses', supports_websockets: false });
  await api.post('responses', { ...REQUEST, input: 'word '.repeat(30) });
  expect(new Set(upstream().calls.map(({ path }) => path))).toEqual(new Set(['/v1/responses']));
});

it('the service asks for counts while turns are recorded', async () => {
  await load(fileOf({ dialect: 'llama.cpp' }));
  const environment = { PROVIDERS_FILE: path(), RECORD_FILE: join(dirname(path()), 'record.yaml') };
  await using recording = await startService({ environment, overrides: [[Clock, clock]] });
  expect((await count(new ApiClient(recording.baseURL))).body['input_tokens']).toBe(1234);
});

it('the service estimates for servers that do not count', async () => {
  const counted = await count(await start({ dialect: 'sglang' }));
  expect(counted).toMatchObject({ status: 200, body: { input_tokens: 30 } });
  expect(upstream().calls).toEqual([]);
});

it('the service estimates images for vLLM, which would count the mark of their place', async () => {
  const content = [{ type: 'input_image', image_url: 'https://example.com/a.png' }];
  const counted = await count(await start({ dialect: 'vllm' }), { input: [{ role: 'user', content }] });
  expect(counted.body['input_tokens']).toBeGreaterThan(700);
  expect(upstream().calls).toEqual([]);
});

it('the service gives vLLM what reaches its template', async () => {
  upstream().replies = [{ body: { count: 5 } }];
  const api = await start({ dialect: 'vllm', forward: ['chat_template_kwargs'] });
  await count(api, { reasoning: { effort: 'low' }, chat_template_kwargs: { greets: true } });
  expect(upstream().calls[0]?.body['chat_template_kwargs']).toEqual({ greets: true, reasoning_effort: 'low' });
});

it('the service can be told how a server counts', async () => {
  upstream().replies = [{ body: { count: 5 } }];
  const api = await start({ base_url: `${upstream().origin}/gpu`, capabilities: { token_count: 'tokenize' } });
  expect((await count(api)).body['input_tokens']).toBe(5);
  expect(upstream().calls[0]?.path).toBe('/gpu/tokenize');
});

it('the service names the parent to an upstream that stores, and sends the whole context where it is forgotten', async () => {
  const events = toEvents('resp_theirs', [message('Over there.')]).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const forgotten = { error: { code: 'previous_response_not_found', message: 'Not found.' } };
  upstream().replies = [
    { body: events.join(''), type: 'text/event-stream' },
    { body: { input_tokens: 50 } },
    { status: 400, body: forgotten },
    { body: { input_tokens: 60 } },
  ];
  const api = await start({ kind: 'responses', supports_websockets: false, passthrough: 'store' });
  const { id } = await api.create(REQUEST);
  const next = { input: 'And?', previous_response_id: id };
  expect((await count(api, next)).body['input_tokens']).toBe(50);
  expect((await count(api, next)).body['input_tokens']).toBe(60);
  const sent = upstream()
    .calls.slice(1)
    .map(({ body }) => [body['previous_response_id'], inputOf(body).length]);
  expect(sent).toEqual([
    ['resp_theirs', 1],
    ['resp_theirs', 1],
    [undefined, 3],
  ]);
});

function inputOf({ input }: CountingUpstream['calls'][number]['body']): readonly unknown[] {
  return input as readonly unknown[];
}
