import { Injectable } from '@nestjs/common';
import type { WebSocket } from 'ws';

import { BodyBudget, JsonReader } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionRegistry, type Upgraded } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { QueueBudget } from './queue-budget.js';
import { TurnGuard } from './turn.guard.js';
import { type HandlerDependencies, ConnectionHandler } from './connection-handler.js';

/** The handlers of all sockets of this process. */
@Injectable()
export class ConnectionHandlers {
  private readonly handlers = new WeakMap<WebSocket, ConnectionHandler>();
  private readonly dependencies: HandlerDependencies;

  constructor(
    private readonly registry: ConnectionRegistry,
    environment: Environment,
    clock: Clock,
    ids: IdGenerator,
    caches: ContinuationCaches,
    budget: QueueBudget,
    guard: TurnGuard,
    bodies: BodyBudget,
  ) {
    const reader = new JsonReader(environment, 'of your message');
    this.dependencies = { environment, clock, ids, caches, budget, guard, bodies, reader };
  }

  /** Starts the handler of a new socket; false when a connection limit is reached and the client is being refused. */
  start(upgraded: Upgraded): boolean {
    const connection = this.registry.open(upgraded);
    if (connection === undefined) return false;
    this.handlers.set(upgraded.socket, new ConnectionHandler(connection, upgraded, this.dependencies));
    return true;
  }

  of(socket: WebSocket): ConnectionHandler | undefined {
    return this.handlers.get(socket);
  }
}
