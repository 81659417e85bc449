import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { handshakeOf } from '../support/connection-raw.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { exchange } from '../support/raw-socket.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';

const KEY = 'sk-alpha';
const BEARER = { authorization: `Bearer ${KEY}` };
const BODY = JSON.stringify({ model: 'm', input: 'Hi' });
const ODD_PATHS = [
  '/v1/responses/',
  '/v1//responses',
  '//v1/responses',
  '//openai//v1///responses//',
  '/openai/v1/responses/?x=1',
];

const service = useService({ providers: [ScriptedProvider], environment: { API_KEYS: `alpha:${KEY}` } });

async function send(method: string, path: string, body?: string, headers: Record<string, string> = BEARER) {
  const client = new RawClient(service.port);
  try {
    const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return await client.send({
      method,
      path,
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  } finally {
    client.close();
  }
}

describe('a path with a slash too many', () => {
  it.each(ODD_PATHS)('a request to a path with a slash too many is served: %s', async (path) => {
    const answer = await send('POST', path, BODY);
    expect(answer).toMatchObject({ status: 200 });
    expect(JSON.parse(answer.text)).toMatchObject({ object: 'response', status: 'completed' });
  });

  it.each(ODD_PATHS)('a path with a slash too many opens a socket: %s', async (path) => {
    await using client = await SocketClient.open(service, { headers: BEARER }, path);
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it.each(['/v1/models/', '/v1//models', '/openai//v1/models'])(
    'a list at a path with a slash too many is served: %s',
    async (path) => {
      expect(await send('GET', path)).toMatchObject({ status: 200 });
    },
  );

  it.each([...ODD_PATHS, '//v1/nothing', '/v1//nothing/'])(
    'a path with a slash too many needs a key: %s',
    async (path) => {
      expect(await send('POST', path, BODY, {})).toMatchObject({ status: 401 });
      expect(await send('POST', path, '{"broken', {})).toMatchObject({ status: 401 });
    },
  );

  it.each(ODD_PATHS)('a path with a slash too many needs a key for a socket: %s', async (path) => {
    const [answer] = await exchange(service.port, handshakeOf({ path }));
    expect(answer).toMatchObject({ status: 401 });
  });

  it('a path with a slash too many names its methods', async () => {
    expect(await send('PUT', '/v1//responses/', '{}')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, POST' },
    });
    expect(await send('OPTIONS', '/v1//responses/')).toMatchObject({
      status: 204,
      headers: { allow: 'GET, HEAD, POST, OPTIONS' },
    });
  });
});

describe('a path below the other prefix of the API', () => {
  it.each(['/%6fpenai/v1/models', '/openai/v1/%6dodels', '/openai/v1/models?client_version=%31'])(
    'a path below the other prefix is read as the router reads it: %s',
    async (path) => {
      expect(await send('GET', path)).toMatchObject({ status: 200 });
      expect(await send('GET', path, undefined, {})).toMatchObject({ status: 401 });
    },
  );

  it('an id below the other prefix is unescaped once', async () => {
    for (const prefix of ['/v1', '/openai/v1']) {
      const { text } = await send('GET', `${prefix}/responses/resp_%2541%2Fb`);
      expect(JSON.parse(text)).toMatchObject({
        error: { message: expect.stringContaining("'resp_%41/b'") as unknown },
      });
    }
  });

  it('an unknown path below the other prefix of a door is answered in the form of the door', async () => {
    const answer = await send('GET', '/openai/v1/messages/nothing');
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      404,
      { type: 'error', error: { message: 'Invalid URL (GET /openai/v1/messages/nothing).' } },
    ]);
  });
});

describe('a client of another API', () => {
  it.each([
    ['/v1/completions', 'Completions', '/v1/responses'],
    ['/completions', 'Completions', '/v1/responses'],
    ['/openai/v1/v1/completions', 'Completions', '/openai/v1/responses'],
  ])(
    'a client of another API is told on %s that this is not %s, and how to get there',
    async (path, api, responses) => {
      const answer = await send('POST', path, '{"model":"m","messages":[]}');
      expect(answer.status).toBe(404);
      const { error } = JSON.parse(answer.text) as { error: { code: string; message: string } };
      expect(error.code).toBe('unknown_url');
      for (const part of [
        `Invalid URL (POST ${path}).`,
        `no ${api} API`,
        `POST ${responses}.`,
        'client.responses.create',
        'useResponsesApi: true',
        'openai.responses(',
        'wire_api = "responses"',
      ]) {
        expect(error.message).toContain(part);
      }
    },
  );

  it.each(['/v1/chat', '/v1/chat/completions/x/y', '/v1/filesystem', '/other/v1/chat/completions', '/v1', '/'])(
    'a client of another API is told no more elsewhere: %s',
    async (path) => {
      const { text } = await send('GET', path);
      expect(JSON.parse(text)).toMatchObject({ error: { message: `Invalid URL (GET ${path}).` } });
    },
  );
});

describe('a door that DOORS leaves out', () => {
  it('a door that DOORS leaves out answers in its own form that it is closed', async () => {
    await using closed = await startService({ environment: { DOORS: 'none' } });
    for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/openai/v1/messages']) {
      const answer = await fetch(`${closed.origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const message = `Invalid URL (POST ${path}). DOORS of this server leaves out 'messages'.`;
      expect([answer.status, await answer.json()]).toMatchObject([
        404,
        { type: 'error', error: { type: 'not_found_error', message } },
      ]);
    }
  });
});

describe('a client with a wrong base URL', () => {
  it.each([
    ['/responses', '/v1/responses'],
    ['/v1/v1/responses', '/v1/responses'],
    ['/v1/openai/v1/responses?stream=true', '/v1/responses'],
    ['/openai/responses', '/v1/responses'],
    ['/chat/completions', '/v1/chat/completions'],
    ['/openai/v1/v1/models', '/openai/v1/models'],
    ['/api/v1/conversations/conv_1/items', '/v1/conversations/conv_1/items'],
    ['/v1/v1/responses/resp_1/cancel', '/v1/responses/resp_1/cancel'],
  ])('a client with a wrong base URL is told on %s where that is', async (path, meant) => {
    const { status, text } = await send('POST', path, '{}');
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'unknown_url', message: `Invalid URL (POST ${path.replace(/\?.*/, '')}). Use ${meant}.` },
    });
  });

  it.each(['/responses', '/v1/v1/responses'])(
    'a client with a wrong base URL is told for a socket on %s',
    async (path) => {
      const { status, body } = await SocketClient.refused(service, { headers: BEARER }, path);
      expect(status).toBe(404);
      expect(body).toMatchObject({
        error: { code: 'unknown_url', message: `No WebSocket at ${path}. Use /v1/responses or /openai/v1/responses.` },
      });
    },
  );

  it.each(['/metrics', '/v1/metrics'])(
    'a client with a wrong base URL is told on %s how metrics are served',
    async (path) => {
      const { status, text } = await send('GET', path);
      expect(status).toBe(404);
      expect(text).toContain(
        'Metrics are at /metrics: here with METRICS=true, and on a port of their own with METRICS_PORT.',
      );
    },
  );
});
