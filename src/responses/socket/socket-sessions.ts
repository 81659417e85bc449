import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

import { Injectable } from '@nestjs/common';
import type { WebSocket } from 'ws';

import type { Caller } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionRegistry } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { QueueBudget } from './queue-budget.js';
import { SocketSession } from './socket-session.js';

/** The sessions of all sockets of this process. */
@Injectable()
export class SocketSessions {
  private readonly sessions = new WeakMap<WebSocket, SocketSession>();

  constructor(
    private readonly registry: ConnectionRegistry,
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    private readonly caches: ContinuationCaches,
    private readonly budget: QueueBudget,
  ) {}

  /** Starts the session of a socket that was just opened; false when there is no room and the client is being told so. */
  start(opened: {
    readonly socket: WebSocket;
    readonly stream: Duplex;
    readonly headers: IncomingHttpHeaders;
    readonly caller: Caller;
  }): boolean {
    const connection = this.registry.open(opened);
    if (connection === undefined) return false;
    const { environment, clock, ids, caches, budget } = this;
    const session = new SocketSession(connection, opened.socket, { environment, clock, ids, caches, budget });
    this.sessions.set(opened.socket, session);
    return true;
  }

  of(socket: WebSocket): SocketSession | undefined {
    return this.sessions.get(socket);
  }
}
