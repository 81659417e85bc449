import type { Duplex } from 'node:stream';

import { Injectable, Logger } from '@nestjs/common';
import type { WebSocket } from 'ws';

import type { Caller, Tenant } from '../access/index.js';
import { Environment } from '../config/index.js';
import { ApiError, IdGenerator, isErrorCode, toErrorFrame } from '../protocol/index.js';
import { Clock, type MaybePromise } from '../time/index.js';
import { type Closing, restarting, SHORT_HANDSHAKE_MS } from './closing.js';
import { Connection, type ConnectionDependencies, type Upgraded } from './connection.js';
import { SocketQuota, type SocketPlace } from './socket-quota.js';

/** Refused clients that may receive the reason at once; beyond it upgrades are answered with 503. */
const MAX_TURNED_AWAY = 64;

/** Of an error frame; the code is empty for one that is not the service's. */
export interface RefusalLabels {
  readonly status: string;
  readonly code: string;
}

/** The connections of this process: limits, names, listing and shutdown. */
@Injectable()
export class ConnectionRegistry {
  private readonly logger = new Logger('Connection');
  private readonly connections = new Map<string, Connection>();
  private readonly turnedAway = new Set<WebSocket>();
  /** Transports of upgrades whose caller is not known yet. */
  private readonly upgrades = new Set<Duplex>();
  /** Error frames so far, by status and code. */
  private readonly refused = new Map<string, [labels: RefusalLabels, count: number]>();
  private closed = false;
  private whenEmpty: PromiseWithResolvers<undefined> | null = null;
  private readonly dependencies: ConnectionDependencies;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    private readonly quota: SocketQuota,
  ) {
    this.dependencies = {
      clock,
      environment,
      onClosed: (connection) => this.remove(connection),
      onRefused: (error) => this.count(error),
    };
  }

  /** The name of the next connection: `ws-` and 32 hex digits. */
  nextId(): string {
    return this.ids.next('ws').replace('_', '-');
  }

  /** Throws ApiError 503 when the process is shutting down or is already refusing MAX_TURNED_AWAY clients. */
  requireOpen(): void {
    if (this.closed) throw ApiError.retryLater('The server is shutting down. Please retry your request.');
    if (this.turnedAway.size >= MAX_TURNED_AWAY) {
      throw overloaded();
    }
  }

  /**
   * Holds the transport of an upgrade while its caller is identified: for REQUEST_TIMEOUT_MS at most, and not beyond a shutdown.
   * Returns the function that releases it. Throws ApiError 503 during shutdown or overload.
   */
  holdUpgrade(stream: Duplex): () => void {
    this.requireOpen();
    if (this.upgrades.size >= this.environment.WS_MAX_CONNECTIONS) throw overloaded();
    this.upgrades.add(stream);
    const timer = this.clock.schedule(this.environment.REQUEST_TIMEOUT_MS, () => stream.destroy());
    return () => {
      timer.cancel();
      this.upgrades.delete(stream);
    };
  }

  /** Takes a place among the sockets of a tenant, for `open`. */
  takePlace(tenant: Tenant): MaybePromise<SocketPlace> {
    return this.quota.take(tenant);
  }

  /**
   * Opens a connection. Beyond a connection limit the client receives an error frame, because clients do not show the
   * body of a refused handshake, and is closed; the result is undefined.
   */
  open(upgraded: Upgraded): Connection | undefined {
    const { socket, caller, place } = upgraded;
    const refusal = this.refusalFor(place);
    if (refusal !== null) {
      place.release?.();
      this.turnAway(socket, refusal, caller);
      return undefined;
    }
    const connection = new Connection(caller.connectionId ?? this.nextId(), upgraded, this.dependencies);
    this.connections.set(connection.id, connection);
    return connection;
  }

  /** A tenant's connections, oldest first. */
  list(tenant: Tenant): readonly Connection[] {
    return [...this.connections.values()].filter((connection) => connection.tenant === tenant);
  }

  /** Closes a connection of a tenant; false when there is no such connection. */
  retire(tenant: Tenant, id: string, closing: Closing): boolean {
    const connection = this.connections.get(id);
    if (connection?.tenant !== tenant) return false;
    void connection.retire(closing);
    return true;
  }

  /** Error frames that were sent so far, by status and code. */
  get refusals(): Iterable<readonly [labels: RefusalLabels, count: number]> {
    return this.refused.values();
  }

  /** The turns of all connections, on all lanes. */
  load(): { readonly running: number; readonly queued: number } {
    let [running, queued] = [0, 0];
    for (const connection of this.connections.values()) {
      for (const lane of connection.lanes()) {
        running += lane.in_flight;
        queued += lane.queued;
      }
    }
    return { running, queued };
  }

  get size(): number {
    return this.connections.size;
  }

  /** Refuses new connections and closes the existing ones; resolves when the last one is closed. */
  close(): Promise<unknown> {
    this.closed = true;
    for (const connection of this.connections.values()) void connection.retire(restarting(this.environment));
    if (this.size === 0) return Promise.resolve();
    this.whenEmpty ??= Promise.withResolvers();
    return this.whenEmpty.promise;
  }

  /** Terminates all remaining connections without a handshake. */
  terminate(): void {
    for (const stream of this.upgrades) stream.destroy();
    for (const socket of this.turnedAway) socket.terminate();
    for (const connection of this.connections.values()) connection.terminate();
  }

  private refusalFor({ limit, release }: SocketPlace): ApiError | null {
    const { WS_MAX_CONNECTIONS } = this.environment;
    if (this.size >= WS_MAX_CONNECTIONS) return tooMany(`the server's limit of ${WS_MAX_CONNECTIONS} is reached`);
    if (release !== undefined) return null;
    return tooMany(`your limit of ${limit} is reached`);
  }

  private turnAway(socket: WebSocket, refusal: ApiError, { tenant, requestId }: Caller): void {
    // Refused clients retry: one line per series.
    if (this.turnedAway.size === 0) this.logger.warn(`refused a connection of tenant ${tenant}: ${refusal.message}`);
    this.turnedAway.add(socket);
    socket.send(toErrorFrame(refusal, { requestId }));
    socket.close(1013, 'websocket_connection_limit_reached');
    const timer = this.clock.schedule(SHORT_HANDSHAKE_MS, () => socket.terminate());
    socket.once('close', () => {
      timer.cancel();
      this.turnedAway.delete(socket);
    });
  }

  private count({ status, code }: ApiError): void {
    // Codes of model servers are any text, and a counter is for ever.
    const labels = { status: String(status), code: code !== null && isErrorCode(code) ? code : '' };
    const key = `${status} ${labels.code}`;
    const known = this.refused.get(key);
    if (known === undefined) this.refused.set(key, [labels, 1]);
    else known[1] += 1;
  }

  private remove(connection: Connection): void {
    this.connections.delete(connection.id);
    connection.place.release?.();
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

function overloaded(): ApiError {
  return ApiError.of('server_is_overloaded', 'The server has too many connections. Please retry later.', {
    headers: { 'retry-after': '1' },
  });
}
