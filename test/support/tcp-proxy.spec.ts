import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openSocket } from './raw-socket.js';
import { TcpProxy } from './tcp-proxy.js';

/** What the server behind the proxy has received, and who is connected to it. */
let received: string;
let connections: Set<Socket>;
let server: Server;
let proxy: TcpProxy;

beforeEach(async () => {
  received = '';
  connections = new Set();
  server = createServer((socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket)).on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      received += String(data);
      socket.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await TcpProxy.open((server.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy.close();
  server.close();
});

/** Resolves when the connection is over, whether it ended or broke. */
function closed(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve));
}

async function echo(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return await nextText(socket);
}

async function nextText(socket: Socket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer];
  return String(data);
}

describe('TcpProxy', () => {
  it('TcpProxy forwards both ways, and passes on an orderly end', async () => {
    const socket = await openSocket(proxy.port);
    expect(await echo(socket, 'one')).toBe('one');
    expect(await echo(socket, 'two')).toBe('two');
    socket.end();
    await closed(socket);
    expect(connections.size).toBe(0);
  });

  it('TcpProxy cuts what is open on both sides, refuses what is new, and comes back on the same port', async () => {
    const socket = await openSocket(proxy.port);
    await echo(socket, 'one');
    const [behind] = connections;
    const gone = Promise.all([closed(socket), closed(behind as Socket)]);
    await proxy.cut();
    await gone;
    await expect(openSocket(proxy.port)).rejects.toThrow('ECONNREFUSED');

    await proxy.restore();
    expect(await echo(await openSocket(proxy.port), 'two')).toBe('two');
  });

  it('TcpProxy holds what is open and what is new while it stalls, and forwards it afterwards', async () => {
    const open = await openSocket(proxy.port);
    await echo(open, 'one');
    proxy.stall();
    open.write('two');
    const late = await openSocket(proxy.port);
    late.write('three');
    // Another connection to the server, made and answered meanwhile, shows that nothing came through.
    const direct = await openSocket((server.address() as AddressInfo).port);
    await echo(direct, 'direct');
    expect(received).toBe('onedirect');
    direct.destroy();

    const texts = Promise.all([nextText(open), nextText(late)]);
    await proxy.restore();
    expect(await texts).toEqual(['two', 'three']);
  });

  it('TcpProxy cuts what it holds', async () => {
    proxy.stall();
    const socket = await openSocket(proxy.port);
    const gone = closed(socket);
    await proxy.cut();
    await gone;
    expect(connections.size).toBe(0);
  });

  it('TcpProxy breaks the connection of a client when nobody listens behind it', async () => {
    const down = once(server, 'close');
    server.close();
    await down;
    await closed(await openSocket(proxy.port));
  });
});
