import { once } from 'node:events';

import { afterEach, describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { TestTaker } from '../../../../test/support/test-sink.js';
import { closePools, LIMITS, serverHas, withPool } from '../../../../test/support/responses-transport/with-pool.js';
import type { Baseline } from '../request/baseline.js';
import type { UpstreamSocket } from './upstream-socket.js';

/** Runs a turn on a socket, without giving it back. */
async function useOnce(socket: UpstreamSocket): Promise<void> {
  const { signal } = new AbortController();
  await (await socket.send('{}', signal)).read(new TestTaker());
}

function baselineOf(responseId: string): Baseline {
  return { responseId, members: '', count: 0, items: '', returned: { count: 0, items: '' } };
}

afterEach(closePools);

describe('the sockets to an upstream', () => {
  it('the sockets to an upstream belong to their conversation', async () => {
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

  it('two concurrent turns have two sockets, and the one that continues the wanted response is preferred', async () => {
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

  it('sockets are preferred in the order of their last use by a turn that continues no response', async () => {
    const { take } = await withPool();
    const [first, second] = await Promise.all([take('c'), take('c')]);
    first.release();
    second.baseline = baselineOf('resp_2');
    second.release();
    expect(await take('c')).toBe(second);
  });

  it('the sockets to an upstream make room for others first if they have served one turn only', async () => {
    const { take } = await withPool();
    const warm = await take('warm');
    warm.release();
    (await take('warm')).release();
    for (const unnamed of ['one', 'two', 'three']) (await take(unnamed)).release();
    expect(await take('warm')).toBe(warm);
  });

  it('the sockets to an upstream make room after several turns too, if there are no others', async () => {
    const { take, pool } = await withPool();
    const warm = await Promise.all([take('one'), take('two')]);
    for (const socket of warm) socket.release();
    for (const name of ['one', 'two']) (await take(name)).release();
    await take('three');
    expect([warm.map(({ isOpen }) => isOpen), pool.size]).toEqual([[false, true], 2]);
  });

  it('sockets are bounded: no turn waits, and the longest idle one makes room', async () => {
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

  it('the sockets to an upstream count while they are opened', async () => {
    const { take, tryTake } = await withPool();
    const opening = [take('one'), take('two')];
    expect(await tryTake('three')).toBeNull();
    await Promise.all(opening);
  });

  it('a socket to an upstream is closed when idle for too long', async () => {
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

  it('a socket to an upstream is closed at the end of its age while idle, and replaced after it', async () => {
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

  it('a socket to an upstream is replaced without notice when it was closed while idle', async () => {
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

  it('a socket to an upstream is replaced when other headers are wanted', async () => {
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

  it('the sockets to an upstream of a dropped conversation are closed, those in use after their turn', async () => {
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

  it('sockets are closed when the provider was replaced, those in use after their turn, also those opened since', async () => {
    const { take, server, pool } = await withPool();
    const [idle, busy] = await Promise.all([take('a'), take('b')]);
    idle.release();
    pool.retire();
    await serverHas(server, 1);
    await useOnce(busy);
    busy.release();
    (await take('c')).release();
    await serverHas(server, 0);
    expect(pool.size).toBe(0);
  });

  it('sockets are closed with the provider', async () => {
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

  it('sockets are not awaited for long when the provider is closed', async () => {
    const { take, server, pool, clock } = await withPool();
    await take('c');
    for (const peer of server.sockets) peer.pause();
    const closed = pool.destroy();
    clock.advance(1000);
    await closed;
  });

  it('the sockets to an upstream say no more of themselves than is allowed twice', async () => {
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
