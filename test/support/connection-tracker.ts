import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { type Connection, ConnectionRegistry } from '../../src/connections/index.js';
import { asTenant } from '../../src/index.js';
import type { Service } from './service.js';

/** Resolves when a connection is closed, however it ended: `once` of node:events rejects when it broke. */
export async function closeOf(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** The connections of a service as its own side sees them, from when the tracker is made. */
export class ConnectionTracker {
  /** TCP connections that are open, oldest first. */
  readonly open = new Set<Socket>();

  private readonly registry: ConnectionRegistry;

  constructor({ app }: Service) {
    this.registry = app.get(ConnectionRegistry);
    app.getHttpServer().on('connection', (socket: Socket) => {
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
  }

  /** The one that was opened last. */
  get latest(): Socket {
    const socket = [...this.open].at(-1);
    if (socket === undefined) throw new Error('no connection is open');
    return socket;
  }

  /** The only WebSocket of a service without keys. Throws when there is another number of them. */
  get only(): Connection {
    const [connection, ...others] = this.registry.list(asTenant('anybody'));
    if (connection === undefined || others.length > 0) throw new Error('there is not exactly one connection');
    return connection;
  }

  /** The service's side of a client's connection. */
  sideOf({ localPort }: Socket): Socket {
    const side = [...this.open].find(({ remotePort }) => remotePort === localPort);
    if (side === undefined) throw new Error('the connection is not open');
    return side;
  }

  /** Resolves when the service counts so many sockets: it hears of a close after the client. */
  async whenSockets(count: number): Promise<void> {
    while (this.registry.size !== count) await nextLoopTurn();
  }

  /** Resolves when all TCP connections are closed. */
  async whenNone(): Promise<void> {
    while (this.open.size > 0) await nextLoopTurn();
  }
}
