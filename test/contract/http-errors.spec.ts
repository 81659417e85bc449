import { expect, it } from '@jest/globals';

import { ModelError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const body = (members: object = {}): string => JSON.stringify({ model: 'scripted', input: 'Hi', ...members });

/** Requests that HTTP itself has to refuse: what is sent, and what comes back. */
const REFUSED: readonly (readonly [
  what: string,
  path: string,
  init: RequestInit,
  status: number,
  code: string | null,
])[] = [
  ['an unknown path', '/v1/nothing', {}, 404, 'unknown_url'],
  ['a path without a prefix', '/responses', { method: 'POST', headers: JSON_TYPE, body: body() }, 404, 'unknown_url'],
  ['a path below a response', '/v1/responses/resp_1/nothing', {}, 404, 'unknown_url'],
  ['DELETE on /responses', '/v1/responses', { method: 'DELETE' }, 405, 'method_not_supported'],
  [
    'PUT on a response',
    '/v1/responses/resp_1',
    { method: 'PUT', headers: JSON_TYPE, body: '{}' },
    405,
    'method_not_supported',
  ],
  [
    'POST on models',
    '/openai/v1/models',
    { method: 'POST', headers: JSON_TYPE, body: '{}' },
    405,
    'method_not_supported',
  ],
  ['GET on cancel', '/v1/responses/resp_1/cancel', {}, 405, 'method_not_supported'],
  ['too large a body', '/v1/responses', post(body({ input: 'x'.repeat(5000) })), 413, 'request_too_large'],
  [
    'a form',
    '/v1/responses',
    post('model=scripted', 'application/x-www-form-urlencoded'),
    415,
    'unsupported_media_type',
  ],
  ['plain text', '/v1/responses', post(body(), 'text/plain'), 415, 'unsupported_media_type'],
  ['broken JSON', '/v1/responses', post('{"model":'), 400, 'invalid_json'],
  ['two JSON values', '/v1/responses', post('{}{}'), 400, 'invalid_json'],
  ['an empty body', '/v1/responses', post(''), 400, 'invalid_type'],
  ['a list', '/v1/responses', post('[]'), 400, 'invalid_type'],
  ['null', '/v1/responses', post('null'), 400, 'invalid_type'],
  ['a text', '/v1/responses', post('"Hi"'), 400, 'invalid_type'],
];

describeService('HTTP', { providers: [ScriptedProvider], environment: { BODY_LIMIT_BYTES: 4096 } }, (service) => {
  const send = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${service.origin}${path}`, init);

  it.each(REFUSED)('the service refuses %s', async (_, path, init, status, code) => {
    const answer = await send(path, init);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await answer.json()).toEqual({
      error: {
        type: 'invalid_request_error',
        code,
        param: null,
        message: expect.stringMatching(/\w.*\.$|JSON/) as unknown,
      },
    });
    expectOpenAiHeaders(answer.headers);
  });

  it.each([
    ['/v1/responses', 'PATCH', 'GET, HEAD, POST'],
    ['/v1/responses/resp_1', 'POST', 'GET, HEAD, DELETE'],
    ['/v1/responses/resp_1/input_items', 'DELETE', 'GET, HEAD'],
    ['/openai/v1/responses/resp_1/cancel', 'GET', 'POST'],
    ['/v1/models/scripted', 'DELETE', 'GET, HEAD'],
    ['/v1/responses/compact', 'GET', 'POST'],
    ['/v1/responses/compact', 'DELETE', 'POST'],
    ['/openai/v1/responses/input_tokens', 'GET', 'POST'],
    ['/v1/responses/input_tokens', 'HEAD', 'POST'],
  ])('the service names the methods of %s to %s', async (path, method, allowed) => {
    const answer = await send(path, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
  });

  it('the service ignores what it does not know, unless told to reject it', async () => {
    const unknown = { nonsense: 1, stream_id: 'a', generate: false, client_metadata: { a: 'b' } };
    const answer = await send('/v1/responses', post(body(unknown)));
    expect(answer.status).toBe(200);
    expect(await answer.json()).not.toHaveProperty('nonsense');
  });

  it.each(['abc', 'req-1.2:3_4', 'A'.repeat(128)])('the service keeps the request id %s', async (id) => {
    for (const stream of [false, true]) {
      const answer = await send('/v1/responses', post(body({ stream }), 'application/json', { 'x-request-id': id }));
      expect(answer.headers.get('x-request-id')).toBe(id);
      await answer.text();
    }
  });

  it.each(['-abc', 'a b', 'a"b', '<script>', 'A'.repeat(129), 'ä', ''])(
    'the service replaces the request id "%s"',
    async (id) => {
      const answer = await send('/v1/models', { headers: { 'x-request-id': id } });
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
    },
  );

  it('every kind of answer has the headers of OpenAI', async () => {
    const provider = service.app.get(ScriptedProvider);
    const failing = (): never => {
      throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429 });
    };
    const answers = [
      await send('/v1/responses', post(body())),
      await send('/v1/responses', post(body({ stream: true }))),
      await send('/v1/models'),
      await send('/v1/responses/resp_1'),
      await (provider.play(failing), send('/v1/responses', post(body()))),
      await (provider.play(failing), send('/v1/responses', post(body({ stream: true })))),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 429, 429]);
    for (const { headers } of answers) expectOpenAiHeaders(headers);
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(answers.length);
  });

  it.each([0, 99, 200, 302, 1000, NaN, 429.5, '429'])(
    'the service answers 500 for a ModelError with the status %p',
    async (status) => {
      service.app.get(ScriptedProvider).play(() => {
        throw new ModelError('odd', 'Odd.', { status: status as number });
      });
      const answer = await send('/v1/responses', post(body()));
      expect(answer.status).toBe(500);
      expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) as unknown } });
    },
  );

  it.each([NaN, -1, Infinity])('the service sends no retry-after for retryAfterMs %p', async (retryAfterMs) => {
    service.app.get(ScriptedProvider).play(() => {
      throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429, retryAfterMs });
    });
    const answer = await send('/v1/responses', post(body()));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, null]);
  });
});

function post(text: string, type = 'application/json', headers: Readonly<Record<string, string>> = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': type, ...headers }, body: text };
}

function expectOpenAiHeaders(headers: Headers): void {
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(headers.get('openai-version')).toBe('2020-10-01');
  expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/);
}
