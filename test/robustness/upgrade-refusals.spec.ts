import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { type Handshake, handshakeOf, RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { until } from '../support/held-bodies.js';
import { findErrorFault } from '../support/raw-checks.js';
import { type RawAnswer, RawClient } from '../support/raw-client.js';
import { exchange, openSocket } from '../support/raw-socket.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const PATHS = ['/v1/responses', '/openai/v1/responses'] as const;
const KEY = 'sk-alpha';

let service: Service;
let tracker: ConnectionTracker;

async function start(environment: Readonly<Record<string, unknown>> = {}): Promise<void> {
  service = await startService({ environment, providers: [ScriptedProvider] });
  tracker = new ConnectionTracker(service);
}

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });

interface Expected {
  readonly status: number;
  readonly code: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks for an upgrade that has to be refused in the form of every other error, and to leave nothing behind. */
async function expectRefused(handshake: Handshake, { status, code, headers = {} }: Expected): Promise<RawAnswer> {
  const { size } = service.app.get(ConnectionRegistry);
  // Resolves when the service has closed the connection.
  const answers = await exchange(service.port, handshakeOf(handshake));
  expect(answers).toHaveLength(1);
  const [answer] = answers as [RawAnswer];
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': expect.stringMatching(/^req_[0-9a-f]+$/),
    'openai-version': '2020-10-01',
    connection: 'close',
    ...headers,
  });
  expect(findErrorFault(answer.text)).toBeUndefined();
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code, param: null } });
  expect(service.app.get(ConnectionRegistry).size).toBe(size);
  return answer;
}

describe('an upgrade of a stranger', () => {
  beforeAll(() => start({ API_KEYS: `alpha:${KEY}` }));
  afterAll(() => service.close());

  const challenge = { 'www-authenticate': 'Bearer' };

  it.each([
    ['without a key', PATHS[0]],
    ['on another path', '/elsewhere'],
  ])('a refused upgrade leaves no connection behind, whatever the client sends after it: %s', async (_, path) => {
    const server = service.app.getHttpServer();
    const count = promisify(server.getConnections.bind(server));
    const before = await count();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const socket = await openSocket(service.port);
      socket.write(Buffer.concat([Buffer.from(handshakeOf({ path })), Buffer.alloc(200_000)]));
      socket.destroySoon();
    }
    await until(async () => (await count()) <= before);
  });

  it.each(PATHS)('an upgrade of a stranger is refused without a key: %s', async (path) => {
    const { text } = await expectRefused({ path }, { status: 401, code: null, headers: challenge });
    expect(text).toContain('Missing bearer authentication in header.');
    await tracker.whenNone();
  });

  it.each(PATHS)('an upgrade of a stranger is refused with a wrong key, which is not repeated: %s', async (path) => {
    const handshake = { path, headers: bearer('sk-wrong') };
    const { text } = await expectRefused(handshake, { status: 401, code: 'invalid_api_key', headers: challenge });
    expect(text).not.toContain('sk-wrong');
    await tracker.whenNone();
  });

  it('an upgrade of a stranger is refused as an ordinary client sees it', async () => {
    const refused = await SocketClient.refused(service, { headers: bearer('sk-wrong') });
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } });
  });

  it('an upgrade of a stranger is not let in by a key in the address or in a subprotocol', async () => {
    for (const handshake of [
      { path: `/v1/responses?api_key=${KEY}&authorization=Bearer%20${KEY}` },
      { headers: { 'sec-websocket-protocol': `realtime, openai-insecure-api-key.${KEY}` } },
    ]) {
      await expectRefused(handshake, { status: 401, code: null });
    }
  });

  it('an upgrade of a stranger is let in with the key', async () => {
    await using client = await SocketClient.open(service, { headers: bearer(KEY) });
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });
});

describe('an upgrade that a web page asks of a service without keys', () => {
  beforeAll(() => start({ CORS_ORIGINS: 'https://app.example.com' }));
  afterAll(() => service.close());

  it.each(['https://evil.example.com', 'http://localhost:1', 'null', 'file://', ''])(
    'an upgrade that a web page asks of a service without keys is refused when the page is of another origin: "%s"',
    async (origin) => {
      for (const path of PATHS) {
        await expectRefused({ path, headers: { origin } }, { status: 403, code: 'forbidden_origin' });
      }
      await tracker.whenNone();
    },
  );

  it.each(['evil.example.com', '127.0.0.1.nip.io', 'localhost.evil.example.com:80'])(
    'an upgrade that a web page asks of a service without keys is refused when its name was rebound to this machine: %s',
    async (host) => {
      await expectRefused({ headers: { host } }, { status: 403, code: 'forbidden_host' });
      await expectRefused({ headers: { host, origin: `http://${host}` } }, { status: 403, code: 'forbidden_host' });
    },
  );

  it.each([
    ['of an origin in CORS_ORIGINS', (): Record<string, string> => ({ origin: 'https://app.example.com' })],
    ['of the same origin', ({ port }: Service) => ({ host: `localhost:${port}`, origin: `http://localhost:${port}` })],
  ])(
    'an upgrade that a web page asks of a service without keys is answered when the page is %s',
    async (_name, headersFor) => {
      using client = await RawSocketClient.open(service, { headers: headersFor(service) });
      expect(client.head).toMatch(/^HTTP\/1\.1 101 /);
      client.send('text', { type: 'response.create', model: 'scripted', input: 'Hi' });
      expect(await client.nextEvent()).toMatchObject({ type: 'response.created' });
    },
  );
});

describe('an upgrade of a path that has none', () => {
  beforeAll(() => start());
  afterAll(() => service.close());

  it.each([
    '/',
    '/v1',
    '/v1/response',
    '/v2/responses',
    '/responses',
    '*',
    // Those are there, and GET is allowed, but not as a socket.
    '/v1/responses/resp_1',
    '/v1/models',
    '/v1/connections',
    '/healthz',
  ])('an upgrade of a path that has none is refused: %s', async (path) => {
    const { text } = await expectRefused({ path }, { status: 404, code: 'unknown_url' });
    expect(text).toContain('/v1/responses');
    await tracker.whenNone();
  });
});

describe('a service with WS_ENABLED=false', () => {
  beforeAll(() => start({ WS_ENABLED: 'false' }));
  afterAll(() => service.close());

  it.each(PATHS)(
    'a service with WS_ENABLED=false answers 426, after which clients go on over HTTP: %s',
    async (path) => {
      const headers = { upgrade: 'websocket' };
      await expectRefused({ path }, { status: 426, code: 'websocket_not_supported', headers });
      await tracker.whenNone();
    },
  );

  it('a service with WS_ENABLED=false answers turns over HTTP', async () => {
    const client = new RawClient(service.port);
    for (const path of PATHS) {
      const headers = { 'content-type': 'application/json' };
      const answer = await client.send({ method: 'POST', path, headers, body: '{"model":"m","input":"Hi"}' });
      expect(answer.status).toBe(200);
    }
    client.close();
  });
});

describe('an upgrade during a shutdown', () => {
  beforeAll(() => start({ DRAIN_TIMEOUT_MS: 600_000 }));
  afterEach(() => service.close());

  it('an upgrade during a shutdown is refused while the last turns run', async () => {
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    await using idle = await SocketClient.open(service);
    await using busy = await SocketClient.open(service);
    busy.create({ input: 'last' });
    await held.whenBegun(1);
    const closed = service.close();
    expect(await idle.closed).toEqual({ code: 1012, reason: 'service_restarting' });
    await tracker.whenSockets(1);
    for (const path of PATHS) {
      const headers = { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as unknown as string };
      await expectRefused({ path }, { status: 503, code: 'service_unavailable', headers });
    }
    held.letGo('last');
    expect((await busy.finish()).response.status).toBe('completed');
    await closed;
  });
});

describe('a handshake that is broken', () => {
  beforeAll(() => start());
  afterAll(() => service.close());

  const version = { 'sec-websocket-version': '13' };

  it.each<readonly [string, Handshake, Expected]>([
    ['a POST', { method: 'POST' }, { status: 405, code: 'method_not_supported', headers: { allow: 'GET' } }],
    ['a DELETE', { method: 'DELETE' }, { status: 405, code: 'method_not_supported', headers: { allow: 'GET' } }],
    ['no key', { headers: { 'sec-websocket-key': undefined } }, { status: 400, code: null }],
    ['a key of the wrong length', { headers: { 'sec-websocket-key': 'c2hvcnQ=' } }, { status: 400, code: null }],
    ['no version', { headers: { 'sec-websocket-version': undefined } }, { status: 400, code: null, headers: version }],
    ['version 7', { headers: { 'sec-websocket-version': '7' } }, { status: 400, code: null, headers: version }],
    ['version "x"', { headers: { 'sec-websocket-version': 'x' } }, { status: 400, code: null, headers: version }],
    ['no list of subprotocols', { headers: { 'sec-websocket-protocol': 'a,,b' } }, { status: 400, code: null }],
  ])('a handshake that is broken is refused: %s', async (_name, handshake, expected) => {
    for (const path of PATHS) await expectRefused({ ...handshake, path }, expected);
    await tracker.whenNone();
  });
});
