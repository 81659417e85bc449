import { Injectable } from '@nestjs/common';
import type { WebSocket } from 'ws';

import { Environment } from '../../config/index.js';
import { ConnectionRegistry, type Upgraded } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { QueueBudget } from './queue-budget.js';
import { type SessionDependencies, SocketSession } from './socket-session.js';

/** The sessions of all sockets of this process. */
@Injectable()
export class SocketSessions {
  private readonly sessions = new WeakMap<WebSocket, SocketSession>();
  private readonly dependencies: SessionDependencies;

  constructor(
    private readonly registry: ConnectionRegistry,
    environment: Environment,
    clock: Clock,
    ids: IdGenerator,
    caches: ContinuationCaches,
    budget: QueueBudget,
  ) {
    this.dependencies = { environment, clock, ids, caches, budget };
  }

  /** Starts the session of a socket that was just opened; false when there is no room and the client is being told so. */
  start(upgraded: Upgraded): boolean {
    const connection = this.registry.open(upgraded);
    if (connection === undefined) return false;
    this.sessions.set(upgraded.socket, new SocketSession(connection, upgraded.socket, this.dependencies));
    return true;
  }

  of(socket: WebSocket): SocketSession | undefined {
    return this.sessions.get(socket);
  }
}
