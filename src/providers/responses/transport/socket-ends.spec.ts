import { once } from 'node:events';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import { TestTaker } from '../../../../test/support/test-sink.js';
import {
  type Answer,
  BINARY,
  closePools,
  openSocket,
  packet,
  PING,
  sendAll,
  serverHas,
  TEXT,
} from '../../../../test/support/responses-transport/with-pool.js';

const DELTA = '{"type":"response.output_text.delta"}';
const COMPLETED = '{"type":"response.completed"}';
const IDLE_MS = 300_000;

describe('the end of an answer over a WebSocket', () => {
  afterEach(closePools);

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
  ])('an answer over a WebSocket fails with %s, after what has arrived', async (_rule, breakOff, message) => {
    const { ask, socket, pool, server, clock } = await openSocket((peer, transport) => {
      peer.send(DELTA);
      peer.once('pong', () => breakOff(peer, transport));
      peer.ping();
    });
    const taker = new TestTaker();
    await expect((await ask()).read(taker)).rejects.toMatchObject({ name: 'UpstreamError', message, remedy: 'retry' });
    expect(taker.events).toEqual([DELTA]);
    socket.release();
    expect(pool.size).toBe(0);
    await serverHas(server, 0);
    expect(clock.pending).toBe(0);
  });

  it('an answer over a WebSocket fails when no text message arrives in time; pings do not count (§4.3)', async () => {
    const { ask, server, clock, pool, socket } = await openSocket(sendAll(DELTA));
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

  it('an answer over a WebSocket fails when its server floods it with pings and does not read the answers (§4.3)', async () => {
    const { ask, server, pool, socket } = await openSocket((peer, transport) => {
      transport.pause();
      const flood = (): void => {
        if (peer.readyState !== peer.OPEN) return;
        for (let ping = 0; ping < 1000; ping += 1) peer.ping('x'.repeat(100));
        setImmediate(flood);
      };
      flood();
    });
    await expect((await ask()).read(new TestTaker())).rejects.toThrow('websocket ping failed');
    socket.release();
    expect(pool.size).toBe(0);
    for (const peer of server.sockets) peer.terminate();
  });

  it('an answer over a WebSocket fails when it cannot be sent in time', async () => {
    const { ask, server, clock } = await openSocket(sendAll(COMPLETED));
    for (const peer of server.sockets) peer.pause();
    const sending = ask('x'.repeat(32 * 1024 * 1024));
    const failed = expect(sending).rejects.toThrow('idle timeout sending websocket request');
    await whenStill(() => 0);
    clock.advance(IDLE_MS);
    await failed;
    expect(clock.pending).toBe(0);
  });

  it('an answer over a WebSocket fails at once on a socket that is lost already', async () => {
    const { server, ask, controller } = await openSocket(sendAll(COMPLETED));
    for (const peer of server.sockets) peer.close();
    await whenStill(() => server.sockets.size);
    await expect(ask()).rejects.toThrow('websocket closed by server before response.completed');
    controller.abort(new Error('stopped'));
    await expect(ask()).rejects.toThrow('stopped');
  });

  it.each(['signal', 'abort', 'drop'])(
    'an answer over a WebSocket ends at once by its %s, without a closing handshake',
    async (way) => {
      const { ask, server, controller, socket, clock, pool } = await openSocket(sendAll(DELTA));
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
    },
  );

  it('an answer over a WebSocket keeps what arrives before it is read, and then reports the end', async () => {
    const { ask } = await openSocket((peer, transport) => {
      transport.write(packet([TEXT, 'a'], [TEXT, 'b']));
      peer.close();
    });
    const exchange = await ask();
    await whenStill(() => 0);
    const taker = new TestTaker();
    await expect(exchange.read(taker)).rejects.toThrow('websocket closed by server before response.completed');
    expect(taker.events).toEqual(['a', 'b']);
  });

  it('an answer over a WebSocket reports a close only behind what waits for room', async () => {
    const { ask } = await openSocket((peer, transport) => {
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

  it.each<readonly [when: string, frames: readonly (readonly [number, string])[]]>([
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
  ])(
    'an answer over a WebSocket leaves no socket to others when more follows its answer, %s',
    async (_when, frames) => {
      const { ask, socket, pool } = await openSocket((_peer, transport) => transport.write(packet(...frames)));
      const taker = new TestTaker();
      await (await ask()).read(taker);
      expect(taker.events).toEqual([COMPLETED]);
      socket.release();
      expect(pool.size).toBe(0);
    },
  );

  it('an answer over a WebSocket leaves no socket to others when more follows after a wait for room', async () => {
    const { ask, socket, pool } = await openSocket((_peer, transport) =>
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

  it('an answer over a WebSocket drops a socket on which a message arrives while it is idle', async () => {
    const { ask, socket, pool, server } = await openSocket(sendAll(COMPLETED));
    await (await ask()).read(new TestTaker());
    socket.release();
    expect(pool.size).toBe(1);
    const [peer] = server.sockets;
    peer?.send(DELTA);
    await once(peer as WebSocket, 'close');
    await nextLoopTurn();
    expect(pool.size).toBe(0);
  });

  it('an answer over a WebSocket drops a socket whose answer was not read to its end', async () => {
    const { ask, socket, pool, clock } = await openSocket(sendAll(DELTA));
    await ask();
    socket.release();
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
