import { Injectable, Logger } from '@nestjs/common';
import type { WebSocket } from 'ws';

import type { Caller, Tenant } from '../access/index.js';
import { Environment } from '../config/index.js';
import { ApiError, IdGenerator, toErrorFrame } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import { type Closing, restarting, SHORT_HANDSHAKE_MS } from './closing.js';
import { Connection, type ConnectionDependencies, type Upgraded } from './connection.js';

/** Clients that are being told that there is no room; beyond this many at once nobody is told any more. */
const MAX_TURNED_AWAY = 64;

/** Decides who may connect, names connections, knows all of them, and sees them out. */
@Injectable()
export class ConnectionRegistry {
  private readonly logger = new Logger('Connection');
  private readonly connections = new Map<string, Connection>();
  private readonly countByTenant = new Map<Tenant, number>();
  private readonly turnedAway = new Set<WebSocket>();
  private closed = false;
  private whenEmpty: PromiseWithResolvers<undefined> | null = null;
  private readonly dependencies: ConnectionDependencies;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
  ) {
    this.dependencies = { clock, environment, onClosed: (connection) => this.remove(connection) };
  }

  /** A name for a connection to be: `ws-` and 32 hex digits. */
  nextId(): string {
    return this.ids.next('ws').replace('_', '-');
  }

  /** Says whether an upgrade is worth a handshake. Throws ApiError 503 when the process is leaving or overrun. */
  requireOpen(): void {
    if (this.closed) throw ApiError.retryLater('The server is shutting down. Please retry your request.');
    if (this.turnedAway.size >= MAX_TURNED_AWAY) {
      throw ApiError.of('server_is_overloaded', 'The server has too many connections. Please retry later.', {
        headers: { 'retry-after': '1' },
      });
    }
  }

  /**
   * Takes a connection in. Where there is no room the client is told so in an error frame, because a refused handshake has
   * no body that clients would show, and closed; then the result is undefined.
   */
  open(upgraded: Upgraded): Connection | undefined {
    const { socket, caller } = upgraded;
    const refusal = this.refusalFor(caller.tenant);
    if (refusal !== null) {
      this.turnAway(socket, refusal, caller);
      return undefined;
    }
    const connection = new Connection(caller.connectionId ?? this.nextId(), upgraded, this.dependencies);
    this.connections.set(connection.id, connection);
    this.countByTenant.set(caller.tenant, this.countOf(caller.tenant) + 1);
    return connection;
  }

  /** A tenant's connections, oldest first. */
  list(tenant: Tenant): readonly Connection[] {
    return [...this.connections.values()].filter((connection) => connection.tenant === tenant);
  }

  /** Brings a tenant's connection to its end; false when there is no such connection. */
  retire(tenant: Tenant, id: string, closing: Closing): boolean {
    const connection = this.connections.get(id);
    if (connection?.tenant !== tenant) return false;
    void connection.retire(closing);
    return true;
  }

  get size(): number {
    return this.connections.size;
  }

  /** Lets nobody in any more and brings every connection to its end; resolves when the last one is closed. */
  close(): Promise<unknown> {
    this.closed = true;
    for (const connection of this.connections.values()) void connection.retire(restarting(this.environment));
    if (this.size === 0) return Promise.resolve();
    this.whenEmpty ??= Promise.withResolvers();
    return this.whenEmpty.promise;
  }

  /** Ends at once whoever is still there. */
  terminate(): void {
    for (const socket of this.turnedAway) socket.terminate();
    for (const connection of this.connections.values()) connection.terminate();
  }

  private refusalFor(tenant: Tenant): ApiError | null {
    const { WS_MAX_CONNECTIONS, WS_MAX_CONNECTIONS_PER_TENANT } = this.environment;
    if (this.size >= WS_MAX_CONNECTIONS) return tooMany(`the server's limit of ${WS_MAX_CONNECTIONS} is reached`);
    if (WS_MAX_CONNECTIONS_PER_TENANT === 0 || this.countOf(tenant) < WS_MAX_CONNECTIONS_PER_TENANT) return null;
    return tooMany(`your limit of ${WS_MAX_CONNECTIONS_PER_TENANT} is reached`);
  }

  private turnAway(socket: WebSocket, refusal: ApiError, { tenant, requestId }: Caller): void {
    // Refused clients come again and again: one line per wave.
    if (this.turnedAway.size === 0) this.logger.warn(`no room for a connection of ${tenant}: ${refusal.message}`);
    this.turnedAway.add(socket);
    socket.send(toErrorFrame(refusal, { requestId }));
    socket.close(1013, 'websocket_connection_limit_reached');
    const timer = this.clock.schedule(SHORT_HANDSHAKE_MS, () => socket.terminate());
    socket.once('close', () => {
      timer.cancel();
      this.turnedAway.delete(socket);
    });
  }

  private countOf(tenant: Tenant): number {
    return this.countByTenant.get(tenant) ?? 0;
  }

  private remove(connection: Connection): void {
    this.connections.delete(connection.id);
    const left = this.countOf(connection.tenant) - 1;
    if (left > 0) this.countByTenant.set(connection.tenant, left);
    else this.countByTenant.delete(connection.tenant);
    if (this.size === 0) this.whenEmpty?.resolve(undefined);
  }
}

function tooMany(why: string): ApiError {
  return new ApiError(
    429,
    'invalid_request_error',
    'websocket_connection_limit_reached',
    null,
    `Too many WebSocket connections: ${why}. Close one, or retry later.`,
    { 'retry-after': '1' },
  );
}
