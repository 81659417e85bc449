import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';

import { type WebSocket, WebSocketServer } from 'ws';

import type { UpstreamAddress } from '../../../src/providers/upstream-http/upstream-client.js';
import { LocalServer } from '../local-server.js';

/** What a server of a test does. */
export interface ServerScript {
  readonly onRequest?: RequestListener;
  /** A WebSocket was accepted; `transport` is the connection below it. */
  readonly onSocket?: (socket: WebSocket, transport: Socket, request: IncomingMessage) => void;
  /** Takes upgrades itself. */
  readonly onUpgrade?: (request: IncomingMessage, transport: Socket) => void;
  /** Headers of the answer to a handshake. */
  readonly headers?: readonly string[];
  readonly compresses?: boolean;
}

/** A server that behaves as a script says. */
export class StartedServer extends LocalServer {
  /** The handshakes that were accepted. */
  readonly handshakes: IncomingMessage[] = [];
  private readonly upgrades: WebSocketServer;

  constructor(script: ServerScript) {
    const server = createServer({ keepAliveTimeout: 0 }, script.onRequest);
    super(server);
    this.upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: script.compresses ?? false });
    this.upgrades.on('headers', (headers) => headers.push(...(script.headers ?? [])));
    server.on('upgrade', (request: IncomingMessage, transport: Socket, head) => {
      if (script.onUpgrade !== undefined) {
        script.onUpgrade(request, transport);
        return;
      }
      this.upgrades.handleUpgrade(request, transport, head, (socket) => {
        this.handshakes.push(request);
        socket.on('error', () => undefined);
        script.onSocket?.(socket, transport, request);
      });
    });
  }

  /** The WebSockets that are open. */
  get sockets(): ReadonlySet<WebSocket> {
    return this.upgrades.clients;
  }
}

/** Starts a server that behaves as the script says. */
export function startServer(script: ServerScript): Promise<StartedServer> {
  return new StartedServer(script).listen();
}

/** The address of a server of a test. */
export function addressOf(port: number, changes: Partial<UpstreamAddress> = {}): UpstreamAddress {
  return {
    baseUrl: `http://127.0.0.1:${port}/v1/`,
    headers: { authorization: 'Bearer key' },
    query: { 'api-version': '1' },
    timeouts: { connectMs: 10_000, firstByteMs: 20_000, idleMs: 300_000 },
    connections: 8,
    ...changes,
  };
}
