import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import {
  addressOf,
  type StartedServer,
  startServer,
} from '../../../../test/support/responses-transport/start-server.js';
import { TestTaker } from '../../../../test/support/responses-transport/test-taker.js';
import { FakeClock } from '../../../testing/index.js';
import { type Exchange, SocketPool, type UpstreamSocket } from './index.js';

const DELTA = '{"type":"response.output_text.delta"}';
const COMPLETED = '{"type":"response.completed"}';
const IDLE_MS = 300_000;

/** What the server does with a request. */
type Answer = (socket: WebSocket, transport: Socket) => void;

interface Opened {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly pool: SocketPool;
  readonly socket: UpstreamSocket;
  readonly controller: AbortController;
  /** The requests that the server has received. */
  readonly requests: readonly string[];
  /** Takes another socket of the conversation. */
  take(): Promise<UpstreamSocket>;
  /** Sends a request. */
  ask(frame?: string): Promise<Exchange>;
}

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function open(answer: Answer, compresses = false): Promise<Opened> {
  const requests: string[] = [];
  const server = await startServer({
    headers: ['x-reasoning-included: true'],
    compresses,
    onSocket: (socket, transport) => {
      socket.on('message', (request: Buffer) => {
        requests.push(request.toString());
        answer(socket, transport);
      });
    },
  });
  const clock = new FakeClock();
  const websockets = {
    connectTimeoutMs: 15_000,
    connections: 4,
    idleMs: 60_000,
    maxAgeMs: 3_000_000,
    healAfterMs: null,
  };
  const pool = new SocketPool({ address: addressOf(server.port), websockets: { ...websockets, compresses }, clock });
  cleanUps.push(async () => {
    await pool.destroy();
    await server[Symbol.asyncDispose]();
  });
  const controller = new AbortController();
  const { signal } = controller;
  const take = async (): Promise<UpstreamSocket> => {
    const taken = await pool.take({ conversation: 'c', headers: { 'session-id': 's' }, responseId: undefined, signal });
    if (taken === null) throw new Error('no room');
    return taken;
  };
  const socket = await take();
  const ask = (frame = '{"type":"response.create"}'): Promise<Exchange> => socket.send(frame, signal);
  return { server, clock, pool, socket, controller, requests, take, ask };
}

const sendAll =
  (...texts: readonly string[]): Answer =>
  (socket) => {
    for (const text of texts) socket.send(text);
  };

/** Server frames in one packet. */
function packet(...frames: readonly (readonly [opcode: number, text: string])[]): Buffer {
  return Buffer.concat(frames.map(([opcode, text]) => Buffer.from([0x80 | opcode, text.length, ...Buffer.from(text)])));
}

const TEXT = 1;
const BINARY = 2;
const PING = 9;

describe('a request over a WebSocket', () => {
  it.each([false, true])('is answered by text messages (§4.3); compressed: %s', async (compresses) => {
    const { ask, requests, server, clock, socket } = await open(sendAll(DELTA, 'no JSON', COMPLETED), compresses);
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
  });

  it('passes on messages of one packet with one flush', async () => {
    const { ask } = await open((_socket, transport) =>
      transport.write(packet([TEXT, 'a'], [TEXT, 'b'], [TEXT, COMPLETED])),
    );
    const taker = new TestTaker();
    await (await ask()).read(taker);
    expect(taker.batches).toEqual([['a', 'b', COMPLETED]]);
  });

  it.each<readonly [rule: string, answer: Answer, message: string]>([
    [
      'a close frame (§4.3)',
      (socket) => socket.close(1011, 'x'),
      'websocket closed by server before response.completed',
    ],
    [
      'a close frame without a code (§4.3)',
      (socket) => socket.close(),
      'websocket closed by server before response.completed',
    ],
    ['an end without a close frame (§4.3)', (_socket, tcp) => tcp.end(), 'stream closed before response.completed'],
    ['a reset', (_socket, tcp) => tcp.resetAndDestroy(), 'Connection reset without closing handshake'],
    ['a binary message (§4.3)', (socket) => socket.send(Buffer.from(COMPLETED)), 'unexpected binary websocket event'],
    [
      'a ping that cannot be answered (§4.3)',
      (_socket, tcp) => {
        tcp.write(packet([PING, 'x']));
        tcp.resetAndDestroy();
      },
      'websocket ping failed',
    ],
    [
      'a frame that breaks the rules',
      (_socket, tcp) => tcp.write(packet([3, 'x'])),
      'Invalid WebSocket frame: invalid opcode 3',
    ],
  ])('fails with %s, after what has arrived', async (_rule, breakOff, message) => {
    const { ask, socket, pool, server, clock } = await open((peer, transport) => {
      peer.send(DELTA);
      peer.once('pong', () => breakOff(peer, transport));
      peer.ping();
    });
    const taker = new TestTaker();
    await expect((await ask()).read(taker)).rejects.toMatchObject({ name: 'UpstreamError', message, remedy: 'retry' });
    expect(taker.events).toEqual([DELTA]);
    socket.release();
    expect(pool.size).toBe(0);
    await whenStill(() => server.sockets.size);
    expect(server.sockets.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('answers pings, also while idle (§4.3)', async () => {
    const { server, socket, ask } = await open(sendAll(COMPLETED));
    await (await ask()).read(new TestTaker());
    socket.release();
    const [peer] = server.sockets;
    const pong = once(peer as WebSocket, 'pong');
    peer?.ping('hi');
    expect(String((await pong)[0])).toBe('hi');
  });

  it('fails when no text message arrives in time; pings do not count (§4.3)', async () => {
    const { ask, server, clock, pool, socket } = await open(sendAll(DELTA));
    const taker = new TestTaker();
    const failed = expect((await ask()).read(taker)).rejects.toThrow('idle timeout waiting for websocket');
    await taker.taken(1);
    clock.advance(IDLE_MS - 1);
    const [peer] = server.sockets;
    peer?.send('no JSON');
    await taker.taken(2);
    clock.advance(IDLE_MS - 1);
    const pong = once(peer as WebSocket, 'pong');
    peer?.ping();
    await pong;
    clock.advance(1);
    await failed;
    socket.release();
    expect(pool.size).toBe(0);
  });

  it('fails when it cannot be sent in time', async () => {
    const { ask, server, clock } = await open(sendAll(COMPLETED));
    for (const peer of server.sockets) peer.pause();
    const sending = ask('x'.repeat(32 * 1024 * 1024));
    const failed = expect(sending).rejects.toThrow('idle timeout sending websocket request');
    await whenStill(() => 0);
    clock.advance(IDLE_MS);
    await failed;
    expect(clock.pending).toBe(0);
  });

  it('is answered although the server reads no further', async () => {
    const { server, ask, requests } = await open(sendAll(COMPLETED));
    for (const peer of server.sockets) {
      peer.pause();
      peer.send('refused');
    }
    // What arrives before the request is answered belongs to it.
    const taker = new TestTaker(() => true);
    await (await ask('x'.repeat(32 * 1024 * 1024))).read(taker);
    expect(taker.events).toEqual(['refused']);
    expect(requests).toEqual([]);
  });

  it('fails at once on a socket that is lost already', async () => {
    const { server, ask, controller } = await open(sendAll(COMPLETED));
    for (const peer of server.sockets) peer.close();
    await whenStill(() => server.sockets.size);
    await expect(ask()).rejects.toThrow('websocket closed by server before response.completed');
    controller.abort(new Error('stopped'));
    await expect(ask()).rejects.toThrow('stopped');
  });

  it.each(['signal', 'abort', 'drop'])('ends at once by its %s, without a closing handshake', async (way) => {
    const { ask, server, controller, socket, clock, pool } = await open(sendAll(DELTA));
    const exchange = await ask();
    const taker = new TestTaker();
    const failed = expect(exchange.read(taker)).rejects.toThrow(
      way === 'signal' ? 'stopped' : 'the answer was given up',
    );
    await taker.taken(1);
    const [peer] = server.sockets;
    const closed = once(peer as WebSocket, 'close');
    if (way === 'signal') controller.abort(new Error('stopped'));
    else if (way === 'abort') exchange.abort();
    else socket.drop();
    await failed;
    expect((await closed)[0]).toBe(1006);
    socket.release();
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('waits while the reader has no room; nothing is lost and no timeout runs', async () => {
    let peer: WebSocket | undefined;
    const { ask, clock, socket } = await open((opened, transport) => {
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

  it('keeps what arrives before it is read, and then reports the end', async () => {
    const { ask } = await open((peer, transport) => {
      transport.write(packet([TEXT, 'a'], [TEXT, 'b']));
      peer.close();
    });
    const exchange = await ask();
    await whenStill(() => 0);
    const taker = new TestTaker();
    await expect(exchange.read(taker)).rejects.toThrow('websocket closed by server before response.completed');
    expect(taker.events).toEqual(['a', 'b']);
  });

  it('reports a close only behind what waits for room', async () => {
    const { ask } = await open((peer, transport) => {
      transport.write(packet([TEXT, 'a']));
      peer.once('pong', () => {
        transport.write(packet([TEXT, 'b'], [TEXT, 'c']));
        peer.close();
      });
      peer.ping();
    });
    const taker = new TestTaker();
    taker.fill();
    const failed = expect((await ask()).read(taker)).rejects.toThrow('websocket closed by server');
    await taker.taken(1);
    await whenStill(() => taker.events.length);
    taker.drain();
    await failed;
    expect(taker.events).toEqual(['a', 'b', 'c']);
  });

  it.each<[when: string, frames: (readonly [opcode: number, text: string])[]]>([
    [
      'within the same packet',
      [
        [TEXT, COMPLETED],
        [TEXT, 'late'],
      ],
    ],
    [
      'as a binary message',
      [
        [TEXT, COMPLETED],
        [BINARY, 'late'],
      ],
    ],
  ])('leaves no socket to others when more follows its answer, %s', async (_when, frames) => {
    const { ask, socket, pool } = await open((_peer, transport) => transport.write(packet(...frames)));
    const taker = new TestTaker();
    await (await ask()).read(taker);
    expect(taker.events).toEqual([COMPLETED]);
    socket.release();
    expect(pool.size).toBe(0);
  });

  it('leaves no socket to others when more follows after a wait for room', async () => {
    const { ask, socket, pool } = await open((_peer, transport) =>
      transport.write(packet([TEXT, 'a'], [TEXT, COMPLETED], [TEXT, 'late'])),
    );
    const exchange = await ask();
    await whenStill(() => 0);
    const taker = new TestTaker();
    taker.fill();
    const reading = exchange.read(taker);
    await taker.taken(2);
    taker.drain();
    await reading;
    expect(taker.events).toEqual(['a', COMPLETED]);
    socket.release();
    expect(pool.size).toBe(0);
  });

  it('drops a socket on which a message arrives while it is idle', async () => {
    const { ask, socket, pool, server } = await open(sendAll(COMPLETED));
    await (await ask()).read(new TestTaker());
    socket.release();
    expect(pool.size).toBe(1);
    const [peer] = server.sockets;
    peer?.send(DELTA);
    await once(peer as WebSocket, 'close');
    await nextLoopTurn();
    expect(pool.size).toBe(0);
  });

  it('drops a socket whose answer was not read to its end', async () => {
    const { ask, socket, pool, clock } = await open(sendAll(DELTA));
    await ask();
    socket.release();
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('leaves no listeners and timers behind in two hundred turns', async () => {
    const { socket: first, take, controller, clock, server, requests } = await open(sendAll(DELTA, COMPLETED));
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
