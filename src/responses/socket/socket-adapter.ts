import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import { type INestApplication, NotFoundException } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { MessageMappingProperties } from '@nestjs/websockets';
import type { Observable } from 'rxjs';
import { type WebSocket, WebSocketServer } from 'ws';

import { ApiError } from '../../protocol/index.js';
import { RESPONSES_PATH, RESPONSES_PATHS } from './socket-path.js';
import { Upgrades } from './upgrades.js';

type PathServer = WebSocketServer & { readonly path?: string };

/**
 * Nest's WebSocket adapter, with upgrades answered by us and frames dispatched through lanes. Gateways of the embedding
 * program on other paths behave as with WsAdapter.
 */
export class SocketAdapter extends WsAdapter {
  private readonly upgrades: Upgrades;
  private onUpgrade: ((request: IncomingMessage, stream: Duplex, head: Buffer) => void) | null = null;
  private server: Server | null = null;

  constructor(app: INestApplication) {
    super(app);
    this.upgrades = app.get(Upgrades);
  }

  override create(port: number, options: Parameters<WsAdapter['create']>[1]): unknown {
    if (port !== 0 || options?.path !== RESPONSES_PATH) return super.create(port, options);
    this.ensureHttpServerExists(port, this.httpServer as Server);
    const server = new WebSocketServer(this.upgrades.serverOptions);
    server.on('wsClientError', (error: Error, stream: Duplex, request: IncomingMessage) =>
      this.upgrades.refuse(request, stream, brokenHandshake(error, request)),
    );
    this.addWsServerToRegistry(server, port, RESPONSES_PATH);
    return server;
  }

  override bindMessageHandlers(
    client: WebSocket,
    handlers: MessageMappingProperties[],
    transform: (data: unknown) => Observable<unknown>,
  ): void {
    const session = this.upgrades.sessionOf(client);
    if (session === undefined) super.bindMessageHandlers(client, handlers, transform);
    else session.handleWith(handlers, transform);
  }

  override async dispose(): Promise<void> {
    if (this.onUpgrade !== null) this.server?.off('upgrade', this.onUpgrade);
    await super.dispose();
  }

  protected override ensureHttpServerExists(port: number, httpServer?: Server): Server | undefined {
    if (port !== 0 || httpServer === undefined) return super.ensureHttpServerExists(port, httpServer);
    if (this.onUpgrade !== null) return undefined;
    this.httpServersRegistry.set(port, httpServer);
    this.server = httpServer;
    this.onUpgrade = (request, stream, head) => this.upgrade(request, stream, head);
    httpServer.on('upgrade', this.onUpgrade);
    return httpServer;
  }

  private upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => stream.destroy());
    const path = (request.url ?? '').replace(/[?#].*$/, '').replace(/(?<=.)\/$/, '');
    const isOurs = RESPONSES_PATHS.includes(path);
    const servers: readonly PathServer[] = this.wsServersRegistry.get(0) ?? [];
    const server = servers.find((candidate) => candidate.path === (isOurs ? RESPONSES_PATH : path));
    if (server === undefined) this.upgrades.refuse(request, stream, new NotFoundException());
    else if (isOurs) this.upgrades.open(server, request, stream, head);
    else server.handleUpgrade(request, stream, head, (socket) => server.emit('connection', socket, request));
  }
}

/** What `ws` finds wrong with a handshake, in our form. */
function brokenHandshake({ message }: Error, { method = '', headers }: IncomingMessage): ApiError {
  if (method !== 'GET') {
    return ApiError.of('method_not_supported', `A WebSocket is opened with GET, not with ${method}.`, {
      headers: { allow: 'GET' },
    });
  }
  const version = headers['sec-websocket-version'];
  return new ApiError(400, 'invalid_request_error', null, null, `The WebSocket handshake is not valid: ${message}.`, {
    ...(version === '13' ? {} : { 'sec-websocket-version': '13' }),
  });
}
