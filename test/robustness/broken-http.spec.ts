import { once } from 'node:events';
import { METHODS } from 'node:http';
import type { Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { HeldTurns } from '../support/held-turns.js';
import { findErrorFault } from '../support/raw-checks.js';
import { RawClient } from '../support/raw-client.js';
import { takeStock } from '../support/raw-heap.js';
import { exchange, openSocket, receiveAll } from '../support/raw-socket.js';

const GOOD = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
const TUNNEL = 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n';
const POST = 'POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
let client: RawClient;

// Before it closes.
afterAll(() => client.close());
const service = useService({ environment: { SIMULATOR_CONTROL: true } });

beforeAll(() => {
  client = new RawClient(service.port);
});

describe('a URL that nobody should ask for', () => {
  const PATHS = [
    '/v1/responses/%00',
    '/v1/responses/%ff',
    '/v1/responses/%',
    '/v1/responses/%zz',
    '/v1/responses/%c0%ae',
    '/v1/responses/..',
    '/v1/responses/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '/v1/responses/../../etc/passwd',
    '/v1/responses/__proto__',
    '/v1/responses/constructor/input_items',
    '/v1/responses/resp_1/input_items?limit=1e9&order=%00&after=%ff',
    '/v1/responses/resp_1/input_items?limit=-1&limit=2&__proto__[x]=1',
    '/v1/responses/resp_1?stream=true&stream=false&include[]=%ff',
    `/v1/responses/${'r'.repeat(101)}`,
    `/v1/responses/${'r'.repeat(10_000)}`,
    `/v1/responses/resp_1/${'r'.repeat(10_000)}`,
    `/v1/responses/resp_1?include=${'r'.repeat(10_000)}`,
    '/v1/models/%ff',
    '/v1/models/%',
    '/openai/v1/responses/%ff',
    '/%ff',
    '//v1/responses/x',
    '/V1/responses',
    '/v1/responses/x/',
    '/v1',
    '*',
    'http://127.0.0.1/v1/nowhere',
  ];

  it.each(PATHS.map((path) => [path.slice(0, 80), path] as const))(
    'a URL that nobody should ask for is refused in the form of the API: %s',
    async (_name, path) => {
      for (const method of ['GET', 'DELETE', 'POST', 'OPTIONS']) {
        const { status, headers, text } = await client.send({ method, path, headers: { 'content-type': '' } });
        if (method === 'OPTIONS' && status === 204) continue;
        expect([400, 404, 405, 414, 415]).toContain(status);
        expect(findErrorFault(text)).toBeUndefined();
        expect(headers).toMatchObject({
          'content-type': 'application/json; charset=utf-8',
          'x-request-id': expect.any(String),
          'openai-version': '2020-10-01',
        });
      }
    },
  );
});

describe('a method that a route does not have', () => {
  // CONNECT asks for a tunnel, and clients take the answer for one.
  it.each(METHODS.filter((method) => method !== 'CONNECT'))(
    'a route that does not have the method %s says so',
    async (method) => {
      for (const path of ['/v1/responses', '/v1/responses/resp_1', '/v1/models', '/healthz', '/nowhere']) {
        const headers = { 'content-type': 'application/json' };
        const answer = await client.send({ method, path, headers });
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400 && method !== 'HEAD') expect(findErrorFault(answer.text)).toBeUndefined();
        if (method === 'HEAD') expect(answer.text).toBe('');
        if (answer.status === 405) expect(answer.headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
      }
    },
  );
});

describe('what is not HTTP', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['bytes of every kind', Uint8Array.from({ length: 256 }, (_, index) => 255 - index), 400],
    ['the beginning of TLS', Uint8Array.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3), 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a version that does not exist', 'GET / HTTP/9.9\r\nhost: localhost\r\n\r\n', 400],
    ['a method that does not exist', 'BREW /v1/responses HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
    ['a header without a name', 'GET / HTTP/1.1\r\nhost: localhost\r\n: x\r\n\r\n', 400],
    ['a header with NUL', 'GET / HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n', 400],
    ['two lengths', `${POST}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, 400],
    ['a length and chunks', `${POST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['a negative length', `${POST}content-length: -2\r\n\r\n{}`, 400],
    ['a chunk of no size', `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`, 400],
    ['an unknown transfer encoding', `${POST}transfer-encoding: brotli\r\n\r\n{}`, 400],
    [
      'a body compressed in transfer',
      `${POST}transfer-encoding: gzip, chunked\r\nconnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      415,
    ],
    [
      'a GET compressed in transfer',
      `GET /v1/models HTTP/1.1\r\nhost: a\r\ntransfer-encoding: deflate\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n`,
      415,
    ],
    ['headers of 64 kB', `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(65_536)}\r\n\r\n`, 431],
    ['ten thousand headers', `GET / HTTP/1.1\r\nhost: localhost\r\n${'x: y\r\n'.repeat(10_000)}\r\n`, 431],
    ['a request without host', 'POST /v1/responses HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    [
      'a request with two credentials',
      'GET /v1/models HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer one\r\nauthorization: Bearer two\r\nconnection: close\r\n\r\n',
      400,
    ],
    ['a request with two hosts', `GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\nconnection: close\r\n\r\n`, 400],
    ['an upgrade without host', 'GET /v1/responses HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n', 400],
    ['a request for a tunnel', TUNNEL, 405],
    ['an unknown expectation', `${POST}expect: a-miracle\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`, 417],
    ['a URL of 64 kB', `GET /${'x'.repeat(65_536)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 431],
  ])('%s is refused in the form of OpenAI', async (_name, bytes, status) => {
    const [answer, ...others] = await exchange(service.port, bytes);
    expect(others).toEqual([]);
    expect(answer).toMatchObject({ status, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(findErrorFault(answer?.text ?? '')).toBeUndefined();
  });

  it('an HTTP/1.0 request without host is served, and one with the one expectation there is', async () => {
    const [old] = await exchange(service.port, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect(old).toMatchObject({ status: 200 });
    const body = '{"model":"gpt-4.1","input":"Hi"}';
    const patient = `${POST}expect: 100-Continue\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const socket = await openSocket(service.port);
    socket.write(patient);
    expect(await receiveAll(socket)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

describe('a request that is being answered', () => {
  const held = useService({ providers: [ScriptedProvider], environment: { REQUEST_TIMEOUT_MS: 1000 } });
  const UPGRADE =
    'GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n';

  /** Resolves when the service has given up a request whose time began later than those of before. */
  const untilTimeout = (): Promise<unknown> => exchange(held.port, 'GET /');
  /** Resolves when the service has read what was sent before. */
  const untilRead = (): Promise<unknown> => held.api.get('/healthz');

  /** Asks for a turn, and sends `behind` while it runs. Gives what the service sends until it closes the connection. */
  async function receive(
    stream: boolean,
    send: (socket: Socket) => void,
    until: () => Promise<unknown> = untilRead,
  ): Promise<string> {
    const turns = new HeldTurns(held.provider).hold();
    const socket = await openSocket(held.port);
    const received = receiveAll(socket);
    const body = JSON.stringify({ model: 'm', input: 'hi', stream });
    socket.write(`${POST}content-length: ${body.length}\r\n\r\n${body}`);
    await turns.whenBegun(1);
    send(socket);
    await until();
    turns.letGo('hi');
    return received;
  }

  it.each<readonly [what: string, status: number, stream: boolean, bytes: string, until?: () => Promise<unknown>]>([
    ['garbage', 400, false, 'garbage\r\n\r\n'],
    ['garbage', 400, true, 'garbage\r\n\r\n'],
    ['a chunk of no size', 400, false, `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ['a chunk of no size', 400, true, `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ['headers of 64 kB', 431, true, `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(65_536)}\r\n\r\n`],
    ['half a head', 408, true, 'POST /v1/resp', untilTimeout],
    ['half a body', 408, false, `${POST}content-length: 100\r\n\r\n{"model":`, untilTimeout],
  ])(
    'a request that is being answered is answered in whole before what is broken behind it: %s, %d, stream %s',
    async (_what, status, stream, bytes, until = untilRead) => {
      const received = await receive(stream, (socket) => socket.write(bytes, () => socket.write('more')), until);
      const [, first, ...others] = received.split('HTTP/1.1 ');
      expect(first).toMatch(/^200 OK\r\n[^]*"status":"completed"/);
      expect(others).toEqual([expect.stringMatching(new RegExp(`^${status} [^]*"error":`))]);
    },
  );

  it('a request that is being answered is not cut off by an unreadable one behind another one', async () => {
    const received = await receive(true, (socket) => socket.write(`${GOOD}garbage\r\n\r\n`));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  it('a request that is being answered is not cut off by one for a tunnel behind it', async () => {
    const received = await receive(true, (socket) => socket.write(`${GOOD}${TUNNEL}`));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 405']);
    expect(received).toContain('event: response.completed');
  });

  it.each<readonly [what: string, head: string, status: number]>([
    ['an unknown path', 'POST /nowhere HTTP/1.1', 404],
    [
      'an unknown coding',
      'POST /v1/responses HTTP/1.1\r\ncontent-type: application/json\r\ncontent-encoding: zip',
      415,
    ],
    ['a method that a path does not have', 'POST /v1/models HTTP/1.1', 405],
    ['a path that cannot be read', 'POST /%ff HTTP/1.1', 400],
    ['a GET with a body', 'GET /healthz HTTP/1.1', 200],
  ])(
    'a request that is being answered keeps no client waiting that sends a long body behind it: %s',
    async (_what, head, status) => {
      const long = `${head}\r\nhost: localhost\r\ncontent-length: 500000\r\n\r\n${'x'.repeat(500_000)}`;
      const last = GOOD.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');
      const received = await receive(true, (socket) => socket.write(long + last), untilTimeout);
      const statuses = [200, status, 200].map((one) => `HTTP/1.1 ${one}`);
      expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(statuses);
    },
  );

  it('a request that is being answered keeps those behind it in memory no longer than their answers', async () => {
    const answers: WeakRef<object>[] = [];
    const server = held.app.getHttpServer();
    const note = (_: unknown, response: object): unknown => answers.push(new WeakRef(response));
    server.on('request', note);
    const turns = new HeldTurns(held.provider).hold();
    const socket = await openSocket(held.port);
    const body = JSON.stringify({ model: 'm', input: 'hi' });
    socket.write(`${POST}content-length: ${body.length}\r\n\r\n${body}`);
    await turns.whenBegun(1);
    socket.write(GOOD.repeat(50));
    await untilRead();
    turns.letGo('hi');
    let text = '';
    while (text.split('HTTP/1.1 200').length < 52) text += String((await once(socket, 'data'))[0]);
    await takeStock();
    server.off('request', note);
    expect(answers.filter((answer) => answer.deref() !== undefined).length).toBeLessThan(10);
    socket.destroy();
  });

  it('a request that is being answered is not cut off by the end of its client in the middle of the next one', async () => {
    const received = await receive(true, (socket) => socket.end('POST /v1/resp'));
    expect(received).toMatch(/^HTTP\/1\.1 200 [^]*data: \[DONE\]/);
  });

  it('a request that is being answered is not cut off by an upgrade behind it, which is taken for a request without one', async () => {
    const received = await receive(true, (socket) => socket.write(`${UPGRADE}connection: upgrade, close\r\n\r\n`));
    expect(received).toMatch(/^HTTP\/1\.1 200 [^]*data: \[DONE\][^]*HTTP\/1\.1 200 [^]*"object":"list"/);
  });
});

describe('a client that goes away', () => {
  it('a client that goes away in the middle of a head, of a body or of an answer harms nobody', async () => {
    const body = '{"model":"gpt-5","input":"Hi","stream":true}';
    const beginnings = [
      '',
      'POST /v1/resp',
      `${POST}content-length: 100\r\n\r\n`,
      `${POST}content-length: 100\r\n\r\n{"model":`,
      `${POST}transfer-encoding: chunked\r\n\r\n5\r\n{"mod`,
      `${POST}content-encoding: gzip\r\ncontent-length: 100\r\n\r\n\x1f\x8b`,
      `${POST}content-length: ${body.length}\r\n\r\n${body}`,
    ];
    await Promise.all(
      Array.from({ length: 20 }, () => beginnings)
        .flat()
        .map(async (bytes, index) => {
          const socket = await openSocket(service.port);
          const gone = receiveAll(socket);
          socket.write(bytes, () => (index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()));
          await gone;
        }),
    );
    const answer = await client.post('{"model":"gpt-4.1","input":"Hi"}');
    expect(answer.status).toBe(200);
  });
});
