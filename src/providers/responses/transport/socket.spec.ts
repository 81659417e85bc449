import { once } from 'node:events';
import type { Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import {
  closePools,
  openSocket,
  packet,
  sendAll,
  TEXT,
} from '../../../../test/support/responses-transport/with-pool.js';
import { TestTaker } from '../../../../test/support/test-sink.js';

const DELTA = '{"type":"response.output_text.delta"}';
const COMPLETED = '{"type":"response.completed"}';
const IDLE_MS = 300_000;

describe('a request over a WebSocket', () => {
  afterEach(closePools);

  it.each([false, true])(
    'a request over a WebSocket is answered by text messages (§4.3); compressed: %s',
    async (compresses) => {
      const { ask, requests, server, clock, socket } = await openSocket(
        sendAll(DELTA, 'no JSON', COMPLETED),
        compresses,
      );
      const taker = new TestTaker();
      const exchange = await ask();
      await exchange.read(taker);
      expect(taker.events).toEqual([DELTA, 'no JSON', COMPLETED]);
      expect(requests).toEqual(['{"type":"response.create"}']);
      expect(exchange).toMatchObject({ transport: 'websocket', headers: { 'x-reasoning-included': 'true' } });
      expect(socket.headers).toBe(exchange.headers);
      expect(clock.pending).toBe(0);
      const [handshake] = server.handshakes;
      expect(handshake?.url).toBe('/v1/responses?api-version=1');
      expect(handshake?.headers).toMatchObject({ authorization: 'Bearer key', 'session-id': 's' });
      expect(handshake?.headers['sec-websocket-extensions'] !== undefined).toBe(compresses);
    },
  );

  it('a request over a WebSocket passes on messages of one packet with one flush', async () => {
    const { ask } = await openSocket((_socket, transport) =>
      transport.write(packet([TEXT, 'a'], [TEXT, 'b'], [TEXT, COMPLETED])),
    );
    const taker = new TestTaker();
    await (await ask()).read(taker);
    expect(taker.batches).toEqual([['a', 'b', COMPLETED]]);
  });

  it('a request over a WebSocket answers pings, also while idle (§4.3)', async () => {
    const { server, socket, ask } = await openSocket(sendAll(COMPLETED));
    await (await ask()).read(new TestTaker());
    socket.release();
    const [peer] = server.sockets;
    const pong = once(peer as WebSocket, 'pong');
    peer?.ping('hi');
    expect(String((await pong)[0])).toBe('hi');
  });

  it('a request over a WebSocket is answered although the server reads no further', async () => {
    const { server, ask, requests, socket } = await openSocket(sendAll(COMPLETED));
    for (const peer of server.sockets) {
      peer.pause();
      peer.send('refused');
    }
    // What arrives before the request is answered belongs to it.
    const taker = new TestTaker(() => true);
    await (await ask('x'.repeat(32 * 1024 * 1024))).read(taker);
    expect(taker.events).toEqual(['refused']);
    expect(requests).toEqual([]);
    socket.drop();
  });

  it('a request over a WebSocket waits while the reader has no room; nothing is lost and no timeout runs', async () => {
    let peer: WebSocket | undefined;
    const { ask, clock, socket } = await openSocket((opened, transport) => {
      peer = opened;
      transport.write(packet([TEXT, 'a'], [TEXT, 'b']));
    });
    const taker = new TestTaker();
    taker.fill();
    const reading = (await ask()).read(taker);
    await taker.taken(2);
    peer?.send('c');
    peer?.send('x'.repeat(100_000));
    peer?.send(COMPLETED);
    await whenStill(() => taker.events.length);
    clock.advance(2 * IDLE_MS);
    expect(taker.events).toEqual(['a', 'b']);
    taker.drain();
    await reading;
    expect(taker.events.map((text) => text.slice(0, 30))).toEqual(['a', 'b', 'c', 'x'.repeat(30), COMPLETED]);
    socket.release();
    expect(socket.isOpen).toBe(true);
  });

  it('a request over a WebSocket leaves no listeners and timers behind in two hundred turns', async () => {
    const { socket: first, take, controller, clock, server, requests } = await openSocket(sendAll(DELTA, COMPLETED));
    first.release();
    const { socket } = first as unknown as { readonly socket: WebSocket };
    const { _socket: transport } = socket as unknown as { readonly _socket: Socket };
    const countOf = (emitter: WebSocket | Socket): number =>
      emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name as string), 0);
    const before = [countOf(socket), countOf(transport), clock.pending];
    const listening = new Set<unknown>();
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (type: string, listener: () => void) => {
      listening.add(listener);
      add(type, listener);
    };
    signal.removeEventListener = (type: string, listener: () => void) => {
      listening.delete(listener);
      remove(type, listener);
    };
    for (let turn = 0; turn < 200; turn += 1) {
      const taken = await take();
      expect(taken).toBe(first);
      await (await taken.send(`${turn}`, signal)).read(new TestTaker());
      taken.release();
    }
    expect([countOf(socket), countOf(transport), clock.pending]).toEqual(before);
    expect(listening.size).toBe(0);
    expect(requests).toHaveLength(200);
    expect(server.handshakes).toHaveLength(1);
  });
});
