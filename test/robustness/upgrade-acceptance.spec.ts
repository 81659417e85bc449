import { once } from 'node:events';

import { beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { frameOf, handshakeOf, RawSocketClient } from '../support/connection-raw.js';
import { closeOf, ConnectionTracker } from '../support/connection-tracker.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { exchange, openSocket } from '../support/raw-socket.js';
import { SocketClient } from '../support/socket-client.js';

@WebSocketGateway({ path: '/chat' })
class ChatGateway {
  @SubscribeMessage('hello')
  hello(@MessageBody() name: string): { event: string; data: string } {
    return { event: 'welcome', data: name };
  }
}

@Module({ providers: [ChatGateway] })
class ChatModule {}

const BODY = '{"model":"scripted","input":"Hi"}';
const JSON_HEADERS = { 'content-type': 'application/json' };

const service = useService({ providers: [ScriptedProvider], imports: [ChatModule] });
let tracker: ConnectionTracker;

beforeAll(() => {
  tracker = new ConnectionTracker(service);
});

async function expectTurn(path?: string): Promise<void> {
  await using client = await SocketClient.open(service, {}, path);
  expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
}

describe('an upgrade', () => {
  it.each([
    '/v1/responses',
    '/openai/v1/responses',
    '/v1/responses?api-version=2026-01-01&model=a%2Fb',
    '/v1/responses?x=/v2/other',
    '/openai/v1/responses?',
  ])('an upgrade opens a socket on which turns run: %s', expectTurn);

  it('an upgrade is answered with the id of the request', async () => {
    using named = await RawSocketClient.open(service, { headers: { 'x-request-id': 'balancer-7' } });
    expect(named.head).toMatch(/^x-request-id: balancer-7$/im);
    expect(named.head).toMatch(/^openai-version: 2020-10-01$/im);
    using unnamed = await RawSocketClient.open(service);
    using odd = await RawSocketClient.open(service, { headers: { 'x-request-id': 'two words' } });
    const ids = [unnamed, odd].map(({ head }) => /^x-request-id: (req_[0-9a-f]+)$/im.exec(head)?.[1]);
    expect(new Set([...ids, undefined]).size).toBe(3);
  });

  it('an upgrade is answered without what the client did not ask for', async () => {
    using client = await RawSocketClient.open(service, { headers: { 'sec-websocket-extensions': 'x-unknown' } });
    expect(client.head).toMatch(/^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=$/im);
    expect(client.head).not.toMatch(/^sec-websocket-(?:extensions|protocol):/im);
  });

  it('an upgrade may come with the first message in the same packet', async () => {
    using client = await RawSocketClient.open(service);
    const socket = await openSocket(service.port);
    const message = frameOf('text', `{"type":"response.create",${BODY.slice(1)}`);
    socket.write(Buffer.concat([Buffer.from(handshakeOf()), message, message]));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    while (!text.includes('response.completed')) await once(socket, 'data');
    expect(text).toMatch(/^HTTP\/1\.1 101 /);
    socket.destroy();
    await closeOf(socket);
    // The other one noticed nothing of it.
    client.send('ping', 'still there');
    expect((await client.next('pong')).payload.toString()).toBe('still there');
  });

  it('an upgrade may follow another request on its connection', async () => {
    const socket = await openSocket(service.port);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    while (!text.endsWith('{"status":"ok"}')) await once(socket, 'data');
    socket.write(handshakeOf());
    while (!text.includes('HTTP/1.1 101 ')) await once(socket, 'data');
    socket.destroy();
  });
});

describe('a request that is no upgrade to a WebSocket', () => {
  it.each([
    ['an offer of HTTP/2', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' }],
    ['an offer of TLS', { connection: 'Upgrade', upgrade: 'TLS/1.0' }],
    ['an offer of several', { connection: 'Upgrade', upgrade: 'h2c, IRC/6.9' }],
    ['an Upgrade without its Connection', { upgrade: 'websocket' }],
    ['a Connection without its Upgrade', { connection: 'Upgrade' }],
  ])('a request that is no upgrade to a WebSocket is answered as if it were none: %s', async (_name, headers) => {
    const client = new RawClient(service.port);
    const post = await client.post(BODY, headers);
    expect({ status: post.status, body: JSON.parse(post.text) as unknown }).toMatchObject({
      status: 200,
      body: { object: 'response', status: 'completed' },
    });
    expect(await client.send({ path: '/healthz', headers })).toMatchObject({ status: 200 });
    const list = await client.send({ path: '/v1/responses', headers });
    expect({ status: list.status, body: JSON.parse(list.text) as unknown }).toMatchObject({
      status: 200,
      body: { object: 'list' },
    });
    client.close();
    await tracker.whenNone();
  });

  it('a request that is no upgrade to a WebSocket streams', async () => {
    const client = new RawClient(service.port);
    const stream = await client.stream({}, { connection: 'Upgrade', upgrade: 'h2c' });
    expect(await stream.whole).toContain('data: [DONE]');
    client.close();
  });
});

describe('a client that vanishes during its handshake', () => {
  const whole = handshakeOf();

  it.each([
    ['before its head is whole', (): string => whole.slice(0, 40)],
    ['right after its head', () => whole],
    ['after a broken handshake', () => handshakeOf({ headers: { 'sec-websocket-key': 'x' } })],
    ['after asking for another path', () => handshakeOf({ path: '/elsewhere' })],
    ['in the middle of its first frame', () => whole + frameOf('text', BODY).subarray(0, 10).toString('latin1')],
  ])('a client that vanishes during its handshake harms nobody: %s', async (_name, bytes) => {
    await using other = await SocketClient.open(service);
    for (let count = 0; count < 20; count += 1) {
      const socket = await openSocket(service.port);
      // A reset right after the bytes, or an end that is waited for.
      if (count % 2 === 0) socket.write(bytes(), 'latin1', () => socket.resetAndDestroy());
      else socket.end(bytes(), 'latin1').resume();
      await closeOf(socket);
    }
    expect((await other.turn({ input: 'Hi' })).response.status).toBe('completed');
    await expectTurn();
    await other.close();
    await tracker.whenNone();
    await tracker.whenSockets(0);
  });
});

describe('a gateway of the embedding program', () => {
  it('a gateway of the embedding program works on a path of its own, beside ours', async () => {
    await using chat = await SocketClient.open(service, {}, '/chat');
    await using ours = await SocketClient.open(service);
    chat.send({ event: 'hello', data: 'Ada' });
    expect(await chat.next()).toEqual({ event: 'welcome', data: 'Ada' });
    expect((await ours.turn({ input: 'Hi' })).response.status).toBe('completed');
    // Neither understands the other's messages.
    ours.send({ event: 'hello', data: 'Ada' });
    expect(await ours.next()).toMatchObject({ type: 'error', error: { code: 'unknown_event_type' } });
    chat.send({ type: 'response.create', model: 'scripted', input: 'Hi' });
    chat.send({ event: 'hello', data: 'Bob' });
    expect(await chat.next()).toEqual({ event: 'welcome', data: 'Bob' });
    expect(service.app.get(ConnectionRegistry).size).toBe(1);
  });

  it('a gateway of the embedding program leaves other paths refused', async () => {
    const [answer] = await exchange(service.port, handshakeOf({ path: '/chats' }));
    expect(answer).toMatchObject({ status: 404 });
  });

  it('a gateway of the embedding program does not open POST requests or plain requests of its path', async () => {
    const client = new RawClient(service.port);
    expect(await client.send({ path: '/chat', headers: JSON_HEADERS })).toMatchObject({ status: 404 });
    client.close();
  });
});
