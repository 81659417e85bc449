import { once } from 'node:events';
import { type IncomingMessage, request, type RequestOptions } from 'node:http';
import { json } from 'node:stream/consumers';

import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';

import { ModelError } from '../../src/index.js';
import { FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { anthropic, BEHIND_KEY, HELLO, LOOK } from './anthropic.js';

/** Sends what `fetch` refuses to send. */
async function sendRaw(url: URL, options: RequestOptions, body: string) {
  const sent = request(url, options).end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return {
    status: answer.statusCode,
    requestId: answer.headers['request-id'],
    body: (await json(answer)) as Readonly<Record<string, unknown>>,
  };
}

const service = useService(BEHIND_KEY);
const client = (options: object = {}): Anthropic => anthropic(service, options);

describe('an error', () => {
  it.each([
    ['rate_limit_exceeded', 429, 'rate_limit_error'],
    ['server_is_overloaded', 529, 'overloaded_error'],
    ['server_error', 500, 'api_error'],
  ] as const)('an error of the model, %s, has status %i and the type %s', async (code, status, type) => {
    const failing = async function* (): AsyncGenerator<never> {
      throw new ModelError(code, 'Not now.', { status: status === 529 ? 503 : status, retryAfterMs: 7000 });
    };
    service.provider.play(failing).play(failing);
    for (const stream of [false, true]) {
      const refusal: unknown = await client()
        .messages.create({ ...HELLO, stream })
        .catch((error: unknown) => error);
      if (!(refusal instanceof Anthropic.APIError)) throw new Error('it was not refused');
      expect([refusal.status, refusal.error]).toMatchObject([status, { type: 'error', error: { type } }]);
      expect((refusal.headers as Headers).get('retry-after')).toBe('7');
    }
  });

  it.each([
    ['x-api-key', { apiKey: 'wrong' }],
    ['authorization', { apiKey: null, authToken: 'wrong' }],
  ])('an error says that the key in %s is wrong', async (_, options) => {
    const refused = client(options).messages.create(HELLO);
    await expect(refused).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  it('a right key in authorization is no error', async () => {
    const message = await client({ apiKey: null, authToken: 'key-of-acme' }).messages.create(HELLO);
    expect(message.content).toMatchObject([{ text: 'ok' }]);
  });

  it('an error says in its own form that the body is no JSON', async () => {
    const response = await fetch(`${service.baseURL}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-acme' },
      body: '{',
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }]);
  });
});

describe('an error of the transport', () => {
  const small = useService({ providers: [ScriptedProvider], environment: { BODY_LIMIT_BYTES: '1024' } });
  const JSON_BODY = { 'content-type': 'application/json' };

  it.each<[what: string, method: string, path: string, status: number, type: string, headers?: object, body?: string]>([
    ['a method that the path does not have', 'GET', '/messages', 405, 'invalid_request_error'],
    ['a method that the count does not have', 'DELETE', '/messages/count_tokens/', 405, 'invalid_request_error'],
    ['a path that is not there', 'POST', '/messages/batches?limit=1', 404, 'not_found_error'],
    ['a path that cannot be read', 'POST', '/messages/%zz', 400, 'invalid_request_error'],
    ['a body that is too large', 'POST', '/messages', 413, 'request_too_large', JSON_BODY, ' '.repeat(2000)],
    [
      'a body of another type',
      'POST',
      '/messages',
      415,
      'invalid_request_error',
      { 'content-type': 'text/plain' },
      'x',
    ],
    ['an expectation', 'POST', '/messages', 417, 'invalid_request_error', { ...JSON_BODY, expect: 'tea' }, '{}'],
    ['a method on models', 'DELETE', '/models', 405, 'invalid_request_error', { 'anthropic-version': '2023-06-01' }],
  ])(
    'an error of the transport has the form of Anthropic: %s',
    async (_, method, path, status, type, headers = {}, body = '') => {
      const url = new URL(`${small.baseURL}${path}`);
      const answer = await sendRaw(url, { method, headers: { ...headers } }, body);
      expect(answer).toMatchObject({ status, body: { type: 'error', error: { type, message: expect.any(String) } } });
      expect([answer.requestId, answer.body.request_id]).toEqual([
        answer.body.request_id,
        expect.stringMatching(/^req_/),
      ]);
    },
  );

  it('an error of the transport elsewhere has the form of OpenAI', async () => {
    for (const path of ['/messages2', '/chat/completions/x/messages/y', '/models']) {
      const answer = await sendRaw(new URL(`${small.baseURL}${path}`), { method: 'PUT', headers: {} }, '');
      expect(answer.body).toMatchObject({ error: { type: 'invalid_request_error', code: expect.any(String) } });
    }
  });
});

describe('the models', () => {
  it('the models are listed in the form of their client', async () => {
    const page = await client().models.list();
    const model = { type: 'model', id: 'scripted', display_name: 'scripted', created_at: '2026-01-01T00:00:00.000Z' };
    expect(page.data).toMatchObject([model]);
    await expect(client().models.retrieve('scripted')).resolves.toMatchObject(model);
    const ours = await service.client({ apiKey: 'key-of-acme' }).models.list();
    expect(ours.data).toMatchObject([{ object: 'model', id: 'scripted' }]);
  });

  it('the models tell the id of their request', async () => {
    const { request_id: id } = await client().models.retrieve('scripted').withResponse();
    expect(id).toMatch(/^req_/);
    expect((await client().models.list().withResponse()).request_id).toMatch(/^req_/);
  });

  it.each([
    ['a key that is wrong', 401, 'authentication_error', '', { 'x-api-key': 'wrong' }],
    ['a page behind a model that is not there', 400, 'invalid_request_error', '?after_id=other', {}],
    ['a page before a model that is not there', 400, 'invalid_request_error', '?before_id=other', {}],
    ['a page that is too long', 400, 'invalid_request_error', '?limit=1001', {}],
  ])('the list of models is refused in the form of their client for %s', async (_, status, type, query, headers) => {
    const response = await fetch(`${service.baseURL}/models${query}`, {
      headers: { 'anthropic-version': '2023-06-01', 'x-api-key': 'key-of-acme', ...headers },
    });
    expect([response.status, await response.json()]).toMatchObject([status, { type: 'error', error: { type } }]);
    expect(response.headers.get('request-id')).toMatch(/^req_/);
  });
});

describe('with UNKNOWN_PARAMETERS=reject', () => {
  const strict = useService(async () => {
    const engine = await FakeSearxng.start([]);
    const environment = { UNKNOWN_PARAMETERS: 'reject', WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url };
    const started = await startService({ environment, providers: [ScriptedProvider] });
    const close = async (): Promise<void> => {
      await started.close();
      await engine.close();
    };
    return { ...started, close, [Symbol.asyncDispose]: close };
  });
  const { max_tokens: _, ...COUNTED } = HELLO;
  const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
  const cited = {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'A log.' },
            citations: { enabled: true },
          },
        ],
      },
    ],
  };
  const block = (more: object): object => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', ...more }] }],
  });

  it.each([
    ['messages', 'messages[0].content[0].colour', { ...HELLO, ...block({ colour: 1 }) }],
    ['messages', 'tools[0].deferred', { ...HELLO, tools: [{ ...LOOK, deferred: true }] }],
    ['messages', 'metadata.colour', { ...HELLO, metadata: { colour: 1 } }],
    ['messages', 'colour', { ...HELLO, colour: 1 }],
    ['messages/count_tokens', 'max_tokens', HELLO],
    ['messages/count_tokens', 'thinking.colour', { ...COUNTED, thinking: { type: 'adaptive', colour: 1 } }],
  ])('a request of %s is refused for a member that has no place: %s', async (path, param, body) => {
    const answer = await strict.api.post(path, body);
    expect([answer.status, answer.body]).toMatchObject([400, { error: { type: 'invalid_request_error' } }]);
    expect(JSON.stringify(answer.body)).toContain(`Unknown parameter: '${param}'`);
  });

  it.each([
    ['messages', { ...HELLO, ...block({ cache_control: { type: 'ephemeral' }, citations: null }) }],
    ['messages', { ...HELLO, ...cited }],
    ['messages', { ...HELLO, tools: [SEARCH] }],
    ['messages/count_tokens', { ...COUNTED, tools: [SEARCH, { ...LOOK, eager_input_streaming: true }] }],
  ])('a request of %s may have all that Anthropic knows and that changes nothing here', async (path, body) => {
    const answer = await strict.api.post(path, body);
    expect([answer.status, answer.body]).toEqual([200, answer.body]);
  });
});
