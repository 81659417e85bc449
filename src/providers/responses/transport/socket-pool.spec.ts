import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { closedPort } from '../../../../test/support/chat-upstream/closed-port.js';
import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import {
  addressOf,
  type ServerScript,
  type StartedServer,
  startServer,
} from '../../../../test/support/responses-transport/start-server.js';
import { TestTaker } from '../../../../test/support/responses-transport/test-taker.js';
import { FakeClock } from '../../../testing/index.js';
import type { Baseline } from '../request/index.js';
import type { UpstreamError } from '../upstream-error.js';
import { AnswerRefusedError, SocketPool, type UpstreamSocket, type WantedSocket } from './index.js';

const LIMITS = { connectTimeoutMs: 15_000, connections: 2, idleMs: 60_000, maxAgeMs: 1_000_000 };
const COMPLETED = '{"type":"response.completed"}';

/** Answers every request at once. */
const ANSWERING: ServerScript = {
  onSocket: (socket) => socket.on('message', () => socket.send(COMPLETED)),
};

interface Pooled {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly pool: SocketPool;
  readonly controller: AbortController;
  readonly take: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket>;
  readonly tryTake: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket | null>;
}

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function withPool(script: ServerScript = ANSWERING, port?: number): Promise<Pooled> {
  const server = await startServer(script);
  const clock = new FakeClock();
  const websockets = { ...LIMITS, healAfterMs: null, compresses: false };
  const pool = new SocketPool({ address: addressOf(port ?? server.port), websockets, clock });
  cleanUps.push(async () => {
    await pool.destroy();
    await server[Symbol.asyncDispose]();
  });
  const controller = new AbortController();
  const { signal } = controller;
  const tryTake: Pooled['tryTake'] = (conversation, changes) =>
    pool.take({ conversation, headers: {}, responseId: undefined, signal, ...changes });
  const take: Pooled['take'] = async (...wanted) => {
    const socket = await tryTake(...wanted);
    if (socket === null) throw new Error('no room');
    return socket;
  };
  return { server, clock, pool, controller, take, tryTake };
}

function baselineOf(responseId: string): Baseline {
  return { responseId, members: '', count: 0, items: '', returned: { count: 0, items: '' } };
}

/** Runs a turn on a socket, without giving it back. */
async function useOnce(socket: UpstreamSocket): Promise<void> {
  const { signal } = new AbortController();
  await (await socket.send('{}', signal)).read(new TestTaker());
}

/** Resolves when the server has no more open sockets than this. */
async function serverHas(server: StartedServer, count: number): Promise<void> {
  await whenStill(() => server.sockets.size);
  expect(server.sockets.size).toBe(count);
}

describe('the sockets to an upstream', () => {
  it('belong to their conversation', async () => {
    const { take, server, pool } = await withPool();
    const one = await take('one');
    expect(one.isNew).toBe(true);
    await useOnce(one);
    one.release();
    const other = await take('other');
    expect(other).not.toBe(one);
    expect(await take('one')).toBe(one);
    expect(one.isNew).toBe(false);
    expect(server.handshakes).toHaveLength(2);
    expect(pool.size).toBe(2);
  });

  it('are two for concurrent turns, and the one that continues the wanted response is preferred', async () => {
    const { take } = await withPool();
    const [first, second] = await Promise.all([take('c'), take('c')]);
    expect(first).not.toBe(second);
    for (const [socket, responseId] of [
      [first, 'resp_1'],
      [second, 'resp_2'],
    ] as const) {
      socket.baseline = baselineOf(responseId);
      socket.release();
    }
    expect(await take('c', { responseId: 'resp_1' })).toBe(first);
    first.release();
    expect(await take('c', { responseId: 'resp_2' })).toBe(second);
    second.release();
    expect(await take('c', { responseId: 'resp_3' })).toBe(second);
  });

  it('are preferred in the order of their last use by a turn that continues no response', async () => {
    const { take } = await withPool();
    const [first, second] = await Promise.all([take('c'), take('c')]);
    first.release();
    second.baseline = baselineOf('resp_2');
    second.release();
    expect(await take('c')).toBe(second);
  });

  it('make room for others first if they have served one turn only', async () => {
    const { take } = await withPool();
    const warm = await take('warm');
    warm.release();
    (await take('warm')).release();
    for (const unnamed of ['one', 'two', 'three']) (await take(unnamed)).release();
    expect(await take('warm')).toBe(warm);
  });

  it('make room after several turns too, if there are no others', async () => {
    const { take, pool } = await withPool();
    const warm = await Promise.all([take('one'), take('two')]);
    for (const socket of warm) socket.release();
    for (const name of ['one', 'two']) (await take(name)).release();
    await take('three');
    expect([warm.map(({ isOpen }) => isOpen), pool.size]).toEqual([[false, true], 2]);
  });

  it('are bounded: no turn waits, and the longest idle one makes room', async () => {
    const { take, tryTake, server, pool } = await withPool();
    const [one, two] = await Promise.all([take('one'), take('two')]);
    expect(await tryTake('three')).toBeNull();
    two.release();
    one.release();
    await take('three');
    await serverHas(server, 2);
    expect(pool.size).toBe(2);
    expect(await take('one')).toBe(one);
    expect(two.isOpen).toBe(false);
    expect(await tryTake('two')).toBeNull();
  });

  it('count while they are opened', async () => {
    const { take, tryTake } = await withPool();
    const opening = [take('one'), take('two')];
    expect(await tryTake('three')).toBeNull();
    await Promise.all(opening);
  });

  it('are closed when idle for too long', async () => {
    const { take, server, clock, pool } = await withPool();
    const socket = await take('c');
    clock.advance(LIMITS.idleMs);
    socket.release();
    clock.advance(LIMITS.idleMs - 1);
    expect(await take('c')).toBe(socket);
    socket.release();
    const closed = once([...server.sockets][0] as WebSocket, 'close');
    clock.advance(LIMITS.idleMs);
    expect((await closed)[0]).toBe(1000);
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('are closed at the end of their age while idle, and replaced after it', async () => {
    const { take, server, clock, pool } = await withPool();
    const socket = await take('c');
    clock.advance(LIMITS.maxAgeMs - 1000);
    socket.release();
    clock.advance(999);
    expect(pool.size).toBe(1);
    clock.advance(1);
    expect(pool.size).toBe(0);
    const next = await take('c');
    clock.advance(LIMITS.maxAgeMs);
    expect(next.isOpen).toBe(true);
    next.release();
    expect(await take('c')).not.toBe(next);
    await serverHas(server, 1);
    expect(server.handshakes).toHaveLength(3);
  });

  it('are replaced without notice when they were closed while idle', async () => {
    const { take, server } = await withPool();
    const socket = await take('c');
    socket.release();
    for (const peer of server.sockets) peer.close(1001);
    await serverHas(server, 0);
    const next = await take('c');
    expect(next).not.toBe(socket);
    expect(next.isNew).toBe(true);
    await useOnce(next);
  });

  it('are replaced when other headers are wanted', async () => {
    const { take, server } = await withPool();
    const socket = await take('c', { headers: { 'session-id': 'a' } });
    socket.release();
    expect(await take('c', { headers: { 'session-id': 'a' } })).toBe(socket);
    socket.release();
    const next = await take('c', { headers: { 'session-id': 'b' } });
    expect(next).not.toBe(socket);
    next.release();
    expect(await take('c', { headers: { 'session-id': 'b', 'x-more': '1' } })).not.toBe(next);
    await serverHas(server, 1);
    expect(server.handshakes.map(({ headers }) => headers['session-id'])).toEqual(['a', 'b', 'b']);
  });

  it('of a dropped conversation are closed, those in use after their turn', async () => {
    const { take, server, pool } = await withPool();
    const [idle, busy] = await Promise.all([take('c'), take('c')]);
    idle.release();
    pool.drop('c');
    pool.drop('unknown');
    await serverHas(server, 1);
    await useOnce(busy);
    busy.release();
    busy.release();
    await serverHas(server, 0);
    expect(pool.size).toBe(0);
  });

  it('are closed with the provider', async () => {
    const { take, server, pool, clock } = await withPool();
    const [idle] = await Promise.all([take('a'), take('b')]);
    idle.release();
    const codes = [...server.sockets].map(async (peer) => Number((await once(peer, 'close'))[0]));
    await pool.destroy();
    expect(await Promise.all(codes)).toEqual([1000, 1000]);
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
    await expect(take('a')).rejects.toMatchObject({ message: 'the provider is closed', remedy: 'none' });
  });

  it('are not awaited for long when the provider is closed', async () => {
    const { take, server, pool, clock } = await withPool();
    await take('c');
    for (const peer of server.sockets) peer.pause();
    const closed = pool.destroy();
    clock.advance(1000);
    await closed;
  });

  it('say no more of themselves than is allowed twice', async () => {
    const { take, pool } = await withPool();
    const socket = await take('c');
    socket.release();
    socket.release();
    expect(pool.size).toBe(1);
    socket.drop();
    socket.drop();
    expect(pool.size).toBe(0);
  });
});

describe('a handshake', () => {
  it.each([
    [426, 'Upgrade Required', ''],
    [503, 'Busy', '{"error":{"message":"busy"}}'],
  ])('that is refused with %d is reported with headers and text (§4.1)', async (status, words, text) => {
    const { tryTake, pool, clock } = await withPool({
      onUpgrade: (_request, transport) => {
        transport.end(`HTTP/1.1 ${status} ${words}\r\nretry-after: 3\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
      },
    });
    const refused = await tryTake('c').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AnswerRefusedError);
    expect(refused).toMatchObject({ status, headers: { 'retry-after': '3' }, text });
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('that is refused at length is read up to 64 KB', async () => {
    const { tryTake } = await withPool({
      onUpgrade: (_request, transport) => {
        transport.write(`HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
      },
    });
    await expect(tryTake('c')).rejects.toMatchObject({ status: 500, text: 'x'.repeat(65_536) });
  });

  it.each<readonly [what: string, onUpgrade: (request: IncomingMessage, transport: Socket) => void, message: string]>([
    ['is not answered', () => undefined, 'the WebSocket handshake took more than 15000 ms'],
    [
      'is refused without an end',
      (_request, transport) => transport.write('HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\n'),
      'the WebSocket handshake took more than 15000 ms',
    ],
  ])('that %s ends in time', async (_what, onUpgrade, message) => {
    const asked = Promise.withResolvers<undefined>();
    const { tryTake, clock, pool } = await withPool({
      onUpgrade: (request, transport) => {
        onUpgrade(request, transport);
        asked.resolve(undefined);
      },
    });
    const taking = expect(tryTake('c')).rejects.toMatchObject({ name: 'UpstreamError', message, remedy: 'retry' });
    await asked.promise;
    await whenStill(() => 0);
    clock.advance(LIMITS.connectTimeoutMs);
    await taking;
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('that breaks, or is no WebSocket handshake, is reported', async () => {
    for (const answer of ['', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']) {
      const { tryTake, clock } = await withPool({ onUpgrade: (_request, transport) => transport.end(answer) });
      await expect(tryTake('c')).rejects.toMatchObject({ name: 'UpstreamError', remedy: 'retry' });
      expect(clock.pending).toBe(0);
    }
  });

  it('with nobody says that the server cannot be reached', async () => {
    const { tryTake, clock } = await withPool(ANSWERING, await closedPort());
    const error = (await tryTake('c').catch((reason: unknown) => reason)) as UpstreamError;
    expect(error.options).toMatchObject({ remedy: 'retry', isUnreachable: true });
    expect(clock.pending).toBe(0);
  });

  it.each(['signal', 'destroy'])('ends at once by its %s', async (way) => {
    const asked = Promise.withResolvers<{ readonly whenEnded: Promise<unknown> }>();
    const { tryTake, pool, controller, clock } = await withPool({
      onUpgrade: (_request, transport) => asked.resolve({ whenEnded: once(transport.resume(), 'end') }),
    });
    const taking = expect(tryTake('c')).rejects.toThrow(way === 'signal' ? 'stopped' : 'the connection was closed');
    const { whenEnded } = await asked.promise;
    if (way === 'signal') controller.abort(new Error('stopped'));
    else await pool.destroy();
    await taking;
    await whenEnded;
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
    if (way === 'signal') await expect(tryTake('c')).rejects.toThrow('stopped');
  });
});
