import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { expect } from '@jest/globals';

import { SocketPool } from '../../../src/providers/responses/transport/socket-pool.js';
import type { UpstreamSocket } from '../../../src/providers/responses/transport/upstream-socket.js';
import type { WantedSocket } from '../../../src/providers/responses/transport/pool-options.js';
import { FakeClock } from '../../../src/testing/index.js';
import { whenStill } from '../chat-upstream/when-still.js';
import { addressOf, type ServerScript, type StartedServer, startServer } from './start-server.js';
import { TestTaker } from './test-taker.js';

export const LIMITS = { connectTimeoutMs: 15_000, connections: 2, idleMs: 60_000, maxAgeMs: 1_000_000 };
const COMPLETED = '{"type":"response.completed"}';

/** Answers every request at once. */
export const ANSWERING: ServerScript = {
  onSocket: (socket) => socket.on('message', () => socket.send(COMPLETED)),
};

/** A pool, its server and its clock. */
export interface Pooled {
  readonly server: StartedServer;
  readonly clock: FakeClock;
  readonly pool: SocketPool;
  readonly controller: AbortController;
  readonly take: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket>;
  readonly tryTake: (conversation: string, changes?: Partial<WantedSocket>) => Promise<UpstreamSocket | null>;
}

const cleanUps: (() => Promise<void>)[] = [];

/** Closes what the test has opened: run it after each. */
export async function closePools(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

/** A pool of at most two sockets to a server, unless it is told otherwise; `closePools` closes both. */
export async function withPool(
  script: ServerScript = ANSWERING,
  { port, ...options }: Partial<typeof LIMITS> & { readonly port?: number; readonly compresses?: boolean } = {},
): Promise<Pooled> {
  const server = await startServer(script);
  const clock = new FakeClock();
  const websockets = { ...LIMITS, healAfterMs: null, compresses: false, ...options };
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

/** Runs a turn on a socket, without giving it back. */
export async function useOnce(socket: UpstreamSocket): Promise<void> {
  const { signal } = new AbortController();
  await (await socket.send('{}', signal)).read(new TestTaker());
}

/** Resolves when the server has no more open sockets than this. */
export async function serverHas(server: StartedServer, count: number): Promise<void> {
  while (server.sockets.size > count) await nextLoopTurn();
  await whenStill(() => server.sockets.size);
  expect(server.sockets.size).toBe(count);
}
