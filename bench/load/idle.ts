import { once } from 'node:events';

import type { WebSocket } from 'ws';

import type { IdleJob, IdleOutcome } from './job.ts';
import { openSocket } from './open-socket.ts';

/** Concurrent handshakes. */
const CONCURRENCY = 64;

/** Open sockets by address. */
const idle = new Map<string, WebSocket[]>();

/** Opens or closes sockets until there are as many as requested. Rejects if a server refuses or closes one. */
export async function keepIdle({ url, sockets }: IdleJob): Promise<IdleOutcome> {
  const open = idle.get(url) ?? [];
  idle.set(url, open);
  await Promise.all(open.splice(sockets).map(close));
  let missing = sockets - open.length;
  const connect = async (): Promise<void> => {
    while (missing > 0) {
      missing -= 1;
      open.push(await openIdle(url));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, connect));
  return { sockets: open.length };
}

async function openIdle(url: string): Promise<WebSocket> {
  const socket = await openSocket(url);
  // An unexpected close would invalidate the figures.
  socket.once('close', (code: number) => {
    if (idle.get(url)?.includes(socket) === true) throw new Error(`an idle socket was closed with ${code}`);
  });
  return socket;
}

async function close(socket: WebSocket): Promise<void> {
  socket.close();
  await once(socket, 'close');
}
