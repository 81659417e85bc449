import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import type { INestApplication } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { MessageMappingProperties } from '@nestjs/websockets';
import type { Observable } from 'rxjs';
import type { WebSocket, WebSocketServer } from 'ws';

import { ApiRoutes, pathOf } from '../../http/index.js';
import { RESPONSES_PATH, SocketHandshake } from './socket-handshake.js';
import { ConnectionHandlers } from './connection-handler.js';

/** The port under which Nest's adapters register the HTTP server of the application. */
const OWN_SERVER = 0;

type PathServer = WebSocketServer & { readonly path: string };

/**
 * Nest's WebSocket adapter with its own handshake and dispatch through lanes. Gateways of the embedding program on
 * other paths behave as with WsAdapter.
 */
export class SocketAdapter extends WsAdapter {
  private readonly handshake: SocketHandshake;
  private readonly handlers: ConnectionHandlers;
  private readonly routes: ApiRoutes;
  private listensTo: Server | null = null;

  constructor(app: INestApplication, options?: ConstructorParameters<typeof WsAdapter>[1]) {
    super(app, options);
    this.handshake = app.get(SocketHandshake);
    this.handlers = app.get(ConnectionHandlers);
    this.routes = app.get(ApiRoutes);
  }

  override create(port: number, options: Parameters<WsAdapter['create']>[1]): unknown {
    if (port !== OWN_SERVER || options?.path !== RESPONSES_PATH) return super.create(port, options);
    this.ensureHttpServerExists(port, this.httpServer as Server);
    const server = this.handshake.createServer();
    this.addWsServerToRegistry(server, port, RESPONSES_PATH);
    return server;
  }

  override bindMessageHandlers(
    client: WebSocket,
    handlers: MessageMappingProperties[],
    toObservable: (result: unknown) => Observable<unknown>,
  ): void {
    const handler = this.handlers.of(client);
    if (handler === undefined) super.bindMessageHandlers(client, handlers, toObservable);
    else handler.handleWith({ handlers, toObservable });
  }

  /** Uses `on`: a socket closes only once, and `once` takes five times the memory. */
  override bindClientDisconnect(client: WebSocket, callback: (...reason: unknown[]) => void): void {
    client.on('close', callback);
  }

  override async dispose(): Promise<void> {
    this.listensTo?.off('upgrade', this.onUpgrade);
    await super.dispose();
  }

  protected override ensureHttpServerExists(port: number, httpServer?: Server): Server | undefined {
    if (port !== OWN_SERVER || httpServer === undefined) return super.ensureHttpServerExists(port, httpServer);
    if (this.listensTo !== null) return undefined;
    this.listensTo = httpServer;
    this.httpServersRegistry.set(port, httpServer);
    httpServer.on('upgrade', this.onUpgrade);
    return httpServer;
  }

  private readonly onUpgrade = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    stream.on('error', destroyIt);
    const path = pathOf(request.url ?? '');
    const servers: readonly PathServer[] = this.wsServersRegistry.get(OWN_SERVER) ?? [];
    // Under a global prefix, the path of its registration is not one of the service's own.
    const isAt = (server: PathServer): boolean => pathOf(server.path) === path && !this.handshake.isOurs(server);
    const server = servers.find(isAt);
    if (this.routes.responses.includes(path)) this.handshake.open(request, stream, head);
    else if (server === undefined) this.handshake.refuseUnknownPath(request, stream);
    else server.handleUpgrade(request, stream, head, (socket) => server.emit('connection', socket, request));
  };
}

/** Not a closure: it lives as long as the socket and would retain the request of the upgrade. */
function destroyIt(this: Duplex): void {
  this.destroy();
}
