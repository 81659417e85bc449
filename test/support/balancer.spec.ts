import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';

import { Balancer, type ChoosePort } from './balancer.js';
import { closedPort } from './chat-upstream/closed-port.js';
import { RawClient } from './raw-client.js';

const toClose: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function listen(listener: RequestListener): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  toClose.push(async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return { port: (server.address() as AddressInfo).port, server };
}

/** A backend that says which one it is, and what it was asked. */
async function named(name: string): Promise<number> {
  const { port } = await listen((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      response.writeHead(201, { 'content-type': 'application/json', 'x-backend': name, 'set-cookie': ['a=1', 'b=2'] });
      response.end(JSON.stringify({ name, method: request.method, url: request.url, headers: request.headers, body }));
    })();
  });
  return port;
}

async function balance(
  ports: readonly number[],
  choose?: ChoosePort,
): Promise<{ balancer: Balancer; client: RawClient }> {
  const balancer = await Balancer.open(ports, choose === undefined ? {} : { choose });
  const client = new RawClient(balancer.port);
  toClose.push(async () => {
    client.close();
    await balancer.close();
  });
  return { balancer, client };
}

async function namesOf(client: RawClient, count: number): Promise<readonly unknown[]> {
  const names: unknown[] = [];
  for (let sent = 0; sent < count; sent += 1) names.push((await client.send({})).headers['x-backend']);
  return names;
}

describe('Balancer', () => {
  it('Balancer passes on a request and its answer as they are', async () => {
    const { client } = await balance([await named('a')]);
    const headers = { host: 'example.com', 'x-request-id': 'r1', 'content-type': 'application/json' };
    const answer = await client.send({ method: 'POST', path: '/v1/responses?x=1', headers, body: '{"input":"Hi"}' });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
    expect(JSON.parse(answer.text)).toEqual({
      name: 'a',
      method: 'POST',
      url: '/v1/responses?x=1',
      headers: { ...headers, 'content-length': '14', connection: 'keep-alive' },
      body: '{"input":"Hi"}',
    });
  });

  it('Balancer takes the backends in turn for every request, also on one connection', async () => {
    const { client } = await balance([await named('a'), await named('b')]);
    expect(await namesOf(client, 4)).toEqual(['a', 'b', 'a', 'b']);
  });

  it('Balancer lets the chooser decide', async () => {
    const { client } = await balance([await named('a'), await named('b')], (ports) => ports.at(-1) as number);
    expect(await namesOf(client, 3)).toEqual(['b', 'b', 'b']);
  });

  it('Balancer sends nothing to a backend that was removed', async () => {
    const removed = await named('a');
    const { balancer, client } = await balance([removed, await named('b')]);
    balancer.remove(removed);
    expect(await namesOf(client, 3)).toEqual(['b', 'b', 'b']);
  });

  it('Balancer asks the next one where the connection is refused, with the whole request', async () => {
    const { client } = await balance([await closedPort(), await named('b')]);
    const answer = await client.post('{"input":"Hi"}');
    expect(JSON.parse(answer.text)).toMatchObject({ name: 'b', body: '{"input":"Hi"}' });
  });

  it('Balancer answers 502 when nobody is there', async () => {
    const { client } = await balance([await closedPort(), await closedPort()]);
    expect(await client.send({})).toMatchObject({ status: 502, text: '{}' });
  });

  it('Balancer answers 502, and asks nobody else, when the backend dies before the head of its answer', async () => {
    const { port } = await listen((request) => request.socket.destroy());
    const { client } = await balance([port, await named('b')]);
    expect(await client.post('{}')).toMatchObject({ status: 502, text: '{}' });
  });

  it('Balancer passes on each part of a stream as it comes, and breaks off when the backend does', async () => {
    const parts = Promise.withResolvers<{ write: (text: string) => unknown; die: () => unknown }>();
    const { port } = await listen((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      parts.resolve({ write: (text) => response.write(text), die: () => request.socket.destroy() });
    });
    const { client } = await balance([port]);
    const answer = await client.stream({});
    const { write, die } = await parts.promise;
    write('data: one\n\n');
    expect(await answer.until('one')).toBe('data: one\n\n');
    write('data: two\n\n');
    expect(await answer.until('two')).toBe('data: one\n\ndata: two\n\n');
    const broken = expect(answer.whole).rejects.toThrow('aborted');
    die();
    await broken;
  });

  it.each(['before', 'after'])(
    'Balancer tells the backend when the client goes %s the head of the answer',
    async (when) => {
      const asked = Promise.withResolvers<undefined>();
      const gone = Promise.withResolvers<boolean>();
      const { port } = await listen((_request, response) => {
        response.once('close', () => gone.resolve(response.writableFinished));
        if (when === 'after') response.flushHeaders();
        asked.resolve(undefined);
      });
      const { balancer } = await balance([port]);
      const client = new AbortController();
      const answer = fetch(balancer.origin, { signal: client.signal });
      answer.catch(() => undefined);
      await (when === 'after' ? answer : asked.promise);
      client.abort();
      expect(await gone.promise).toBe(false);
    },
  );

  it('Balancer connects WebSockets, and ends them with their backend', async () => {
    const { port, server } = await listen(() => undefined);
    const upgraded: Socket[] = [];
    server.on('upgrade', (_request, socket) => upgraded.push(socket as Socket));
    new WebSocketServer({ server }).on('connection', (socket, request) => {
      socket.send(request.url ?? '');
      socket.on('message', (data: Buffer) => socket.send(`echo ${String(data)}`));
    });
    const { balancer } = await balance([await closedPort(), port]);
    const socket = new WebSocket(`ws://127.0.0.1:${balancer.port}/v1/responses`);
    const next = async (): Promise<string> => String((await once(socket, 'message'))[0]);
    expect(await next()).toBe('/v1/responses');
    socket.send('Hi');
    expect(await next()).toBe('echo Hi');
    const closed = once(socket, 'close');
    for (const one of upgraded) one.destroy();
    expect((await closed)[0]).toBe(1006);
  });

  it('Balancer refuses an upgrade with 502 when nobody is there', async () => {
    const { balancer } = await balance([await closedPort()]);
    const socket = new WebSocket(`ws://127.0.0.1:${balancer.port}/`);
    await expect(once(socket, 'open')).rejects.toThrow('Unexpected server response: 502');
  });
});
