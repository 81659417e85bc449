import { describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { endingWith, type Service, startService } from '../support/service.js';
import { SHARED_STATES, startReplicas } from '../support/state-backends.js';
import { type RefusedUpgrade, SocketClient } from '../support/socket-client.js';
import { bearer, KeysFile, sha256 } from './keys.js';

const ORIGIN = 'https://app.example.com';
const RED = { id: 'red', tenant: 'red', secrets: [{ sha256: sha256('red-key') }] };

const KEYS = [RED, { ...RED, id: 'reader', secrets: [{ sha256: sha256('reader-key') }], scopes: ['responses:read'] }];

const clock = new FakeClock();
const service = useService(async () => {
  const file = await KeysFile.with(KEYS);
  return endingWith(await start(file), () => file[Symbol.asyncDispose]());
});

function start({ path }: KeysFile, environment: object = {}): Promise<Service> {
  return startService({
    environment: { KEYS_FILE: path, ...environment },
    providers: [ScriptedProvider],
    overrides: [[Clock, clock]],
  });
}

async function mint(body: object = {}, of: Service = service): Promise<string> {
  const answer = await new ApiClient(of.baseURL, bearer('red-key')).post('socket_tokens', { origin: ORIGIN, ...body });
  expect(answer.status).toBe(200);
  return String(answer.body['value']);
}

/** What a browser sends. */
const page = (token: string, origin: string = ORIGIN) => ({
  origin,
  headers: { 'sec-websocket-protocol': `antiphon, antiphon.token.${token}` },
});

function open(of: Service, token: string): Promise<SocketClient> {
  return SocketClient.open(of, { origin: ORIGIN }, '/v1/responses', ['antiphon', `antiphon.token.${token}`]);
}

function refused(token: string, origin?: string): Promise<RefusedUpgrade> {
  return SocketClient.refused(service, page(token, origin));
}

describe('a socket token', () => {
  it('a socket token opens a socket of its tenant, as a browser does, and is not selected', async () => {
    await using socket = await open(service, await mint());
    expect(socket.socket.protocol).toBe('antiphon');
    socket.create({ input: 'Hi' });
    const { response } = await socket.finish();
    const api = new ApiClient(service.baseURL, bearer('red-key'));
    expect((await api.get(`responses/${response.id}`)).status).toBe(200);
  });

  it('a socket token is answered with its origin and its expiry', async () => {
    const api = new ApiClient(service.baseURL, bearer('red-key'));
    const { body } = await api.post('socket_tokens', { origin: ORIGIN, expires_in: 30 });
    const expiresAt = Math.floor(clock.now() / 1000) + 30;
    expect(body).toEqual({
      object: 'socket_token',
      value: expect.any(String) as unknown,
      expires_at: expiresAt,
      origin: ORIGIN,
    });
  });

  it.each([
    ['another origin', 'https://evil.example', 'another origin'],
    ['no origin', undefined, 'another origin'],
  ])('a socket token is refused with %s', async (_name, origin, message) => {
    const token = await mint();
    const { headers } = page(token);
    const answer = await SocketClient.refused(service, origin === undefined ? { headers } : { origin, headers });
    expect(answer).toMatchObject({
      status: 401,
      body: { error: { message: expect.stringContaining(message) as unknown } },
    });
  });

  it('a socket token is refused when it has expired, was changed, or was made by another service', async () => {
    const token = await mint();
    const last = token.endsWith('A') ? 'B' : 'A';
    expect((await refused(token.slice(0, -1) + last)).status).toBe(401);
    expect((await refused('antiphon1_x')).status).toBe(401);
    await using file = await KeysFile.with(KEYS);
    await using other = await start(file);
    expect((await refused(await mint({}, other))).status).toBe(401);
    clock.advance(60_000);
    expect(await refused(token)).toMatchObject({
      status: 401,
      body: { error: { message: 'The socket token has expired.' } },
    });
  });

  it.each([
    ['authorization', bearer('wrong-key'), bearer('red-key')],
    ['x-api-key', { 'x-api-key': 'wrong-key' }, { 'x-api-key': 'red-key' }],
  ])('a socket token does not make up for a wrong key beside it in %s', async (_, wrong, right) => {
    const { origin, headers } = page(await mint());
    expect(await SocketClient.refused(service, { origin, headers: { ...headers, ...wrong } })).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_api_key' } },
    });
    const options = { origin: ORIGIN, headers: right };
    const protocols = ['antiphon', `antiphon.token.${await mint()}`];
    await using _socket = await SocketClient.open(service, options, '/v1/responses', protocols);
  });

  it('a socket token is no key: neither as a bearer, nor in the query', async () => {
    const token = await mint();
    const api = new ApiClient(service.baseURL, bearer(token));
    expect((await api.get('responses')).status).toBe(401);
    const query = await SocketClient.refused(service, { origin: ORIGIN }, `/v1/responses?token=${token}`);
    expect(query.status).toBe(401);
  });

  it('a socket token is not needed any more once the socket is open, which ends with the key that made it', async () => {
    await using file = await KeysFile.with(KEYS);
    await using own = await start(file);
    await using socket = await open(own, await mint({ expires_in: 5 }, own));
    clock.advance(6000);
    socket.create({ input: 'Hi' });
    expect((await socket.finish()).response.status).toBe('completed');
    await file.write([{ ...RED, id: 'other' }]);
    clock.advance(2000);
    const { ApiKeys } = await import('../../src/access/index.js');
    while (own.app.get(ApiKeys).grantOfId('red') !== undefined) await new Promise(setImmediate);
    socket.create({ input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 401 });
  });

  it('a socket token permits no more than its maker, and never to delete', async () => {
    const reader = new ApiClient(service.baseURL, bearer('reader-key'));
    expect((await reader.post('socket_tokens', { origin: ORIGIN })).status).toBe(403);
  });

  it.each([
    [{}, 'origin', 'missing_required_parameter'],
    [{ origin: 'app.example.com' }, 'origin', 'invalid_value'],
    [{ origin: `${ORIGIN}/page` }, 'origin', 'invalid_value'],
    [{ origin: 'null' }, 'origin', 'invalid_value'],
    [{ origin: ORIGIN, expires_in: 61 }, 'expires_in', 'integer_above_max_value'],
    [{ origin: ORIGIN, expires_in: 0 }, 'expires_in', 'integer_below_min_value'],
    [{ origin: ORIGIN, expire_in: 5 }, 'expire_in', 'unknown_parameter'],
  ])('a socket token is not made for %j', async (body, param, code) => {
    const api = new ApiClient(service.baseURL, bearer('red-key'));
    expect(await api.post('socket_tokens', body)).toMatchObject({ status: 400, body: { error: { param, code } } });
  });

  it('a socket token does not exist with SOCKET_TOKEN_TTL=0', async () => {
    await using file = await KeysFile.with(KEYS);
    await using without = await start(file, { SOCKET_TOKEN_TTL: 0 });
    const api = new ApiClient(without.baseURL, bearer('red-key'));
    expect((await api.post('socket_tokens', { origin: ORIGIN })).status).toBe(404);
  });
});

describe.each(SHARED_STATES)('a socket token, with replicas on $state', (state) => {
  it('a socket token opens a socket on any replica', async () => {
    const options = { environment: { API_KEYS: 'red:red-key' }, providers: [ScriptedProvider] };
    await using replicas = await startReplicas(options, options, state.open);
    const token = await mint({}, replicas.one);
    await using socket = await open(replicas.two, token);
    socket.create({ input: 'Hi' });
    expect((await socket.finish()).response.status).toBe('completed');
  });
});
