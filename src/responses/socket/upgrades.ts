import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { Injectable, Logger } from '@nestjs/common';
import type { ServerOptions, WebSocket, WebSocketServer } from 'ws';

import { Authenticator, type Caller } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionRegistry } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { chooseRequestId, toApiError } from '../../http/index.js';
import { ApiError, IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { QueueBudget } from './queue-budget.js';
import { refuseUpgrade } from './refuse-upgrade.js';
import { SocketSession } from './socket-session.js';

/** Messages that are compressed at the same time, of all connections. */
const CONCURRENT_COMPRESSIONS = 10;

/** Opens sockets: checks the upgrade as any request, shakes hands, and starts a session. */
@Injectable()
export class Upgrades {
  private readonly logger = new Logger('Socket');
  private readonly sessions = new WeakMap<WebSocket, SocketSession>();

  constructor(
    private readonly environment: Environment,
    private readonly authenticator: Authenticator,
    private readonly registry: ConnectionRegistry,
    private readonly caches: ContinuationCaches,
    private readonly budget: QueueBudget,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
  ) {}

  /** How our WebSocket server is to be made. */
  get serverOptions(): ServerOptions {
    const { WS_MAX_MESSAGE_BYTES, WS_COMPRESSION } = this.environment;
    return {
      noServer: true,
      maxPayload: WS_MAX_MESSAGE_BYTES,
      // We check UTF-8 ourselves, so that a bad message gets an answer and not a closed connection.
      skipUTF8Validation: true,
      // Pongs count as unread output like everything else.
      autoPong: false,
      perMessageDeflate: WS_COMPRESSION && {
        concurrencyLimit: CONCURRENT_COMPRESSIONS,
        // About 50 kB per direction and connection, instead of 256 and 32.
        serverMaxWindowBits: 13,
        zlibDeflateOptions: { level: 3, memLevel: 6 },
      },
    };
  }

  /** The session of a socket that this class opened. */
  sessionOf(socket: WebSocket): SocketSession | undefined {
    return this.sessions.get(socket);
  }

  /** Answers an upgrade of our path: a socket that `server` emits as its connection, or an HTTP error. */
  open(server: WebSocketServer, request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const requestId = chooseRequestId(request, this.ids);
    try {
      const caller = this.admit(request, requestId);
      const addHeaders = (headers: string[]): void =>
        void headers.push(`x-request-id: ${requestId}`, 'openai-version: 2020-10-01');
      server.once('headers', addHeaders);
      server.handleUpgrade(request, stream, head, (socket) => this.start(server, socket, stream, request, caller));
      server.off('headers', addHeaders);
    } catch (error) {
      this.refuse(request, stream, error, requestId);
    }
  }

  /** Answers an upgrade with the OpenAI error body of what was thrown. */
  refuse(
    request: IncomingMessage,
    stream: Duplex,
    thrown: unknown,
    requestId = chooseRequestId(request, this.ids),
  ): void {
    const { method = '', url = '' } = request;
    const error = toApiError(thrown, { method, url, id: requestId });
    if (error.status >= 500 && error !== thrown) this.logger.error(`upgrade ${requestId} failed`, thrown);
    refuseUpgrade(stream, error, requestId);
  }

  /** Throws ApiError 401, 403, 426 or 503. */
  private admit(request: IncomingMessage, requestId: string): Caller {
    if (!this.environment.WS_ENABLED) {
      // The status that makes clients with a WebSocket mode go on over HTTP at once.
      throw ApiError.of('websocket_not_supported', 'This server has no WebSocket mode. Use HTTP.');
    }
    const owner = this.authenticator.authenticate(request.headers);
    this.registry.requireOpen();
    return { owner, requestId };
  }

  private start(
    server: WebSocketServer,
    socket: WebSocket,
    stream: Duplex,
    request: IncomingMessage,
    caller: Caller,
  ): void {
    // Broken frames end the connection with the right code; there is nothing to add, and nothing of it is our fault.
    socket.on('error', (error) => this.logger.debug(`${caller.requestId}: ${error.message}`));
    const connection = this.registry.open({ socket, stream, headers: request.headers, caller });
    if (connection === undefined) return;
    const { environment, clock, ids, caches, budget } = this;
    this.sessions.set(socket, new SocketSession(connection, socket, { environment, clock, ids, caches, budget }));
    server.emit('connection', socket, request);
  }
}
