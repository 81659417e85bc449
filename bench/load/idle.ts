import { once } from 'node:events';

import type { WebSocket } from 'ws';

import type { IdleJob, IdleOutcome } from './job.ts';
import { openSocket } from './open-socket.ts';

/** Handshakes that are on their way at the same time. */
const CONCURRENCY = 64;

/** Sockets that are open, by their address. */
const idle = new Map<string, WebSocket[]>();

/** Opens or closes sockets until there are as many as asked for. Rejects when a server refuses one or closes it. */
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
  // Whoever is closed here was to stay open: the figures would mean nothing.
  socket.once('close', (code: number) => {
    if (idle.get(url)?.includes(socket) === true) throw new Error(`an idle socket was closed with ${code}`);
  });
  return socket;
}

async function close(socket: WebSocket): Promise<void> {
  socket.close();
  await once(socket, 'close');
}
