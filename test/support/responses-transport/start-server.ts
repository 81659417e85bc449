import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { type WebSocket, WebSocketServer } from 'ws';

import type { UpstreamAddress } from '../../../src/providers/upstream-http/upstream-client.js';

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

/** A server on the loopback interface. */
export interface StartedServer extends AsyncDisposable {
  readonly port: number;
  /** Connections that were accepted. */
  readonly connections: number;
  /** The handshakes that were accepted. */
  readonly handshakes: readonly IncomingMessage[];
  /** The WebSockets that are open. */
  readonly sockets: ReadonlySet<WebSocket>;
}

/** Starts a server that behaves as the script says. */
export async function startServer(script: ServerScript): Promise<StartedServer> {
  const server = createServer({ keepAliveTimeout: 0 }, script.onRequest);
  const upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: script.compresses ?? false });
  const transports = new Set<Socket>();
  const handshakes: IncomingMessage[] = [];
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    transports.add(socket);
    socket.on('error', () => undefined).on('close', () => transports.delete(socket));
  });
  upgrades.on('headers', (headers) => headers.push(...(script.headers ?? [])));
  server.on('upgrade', (request: IncomingMessage, transport: Socket, head) => {
    if (script.onUpgrade !== undefined) {
      script.onUpgrade(request, transport);
      return;
    }
    upgrades.handleUpgrade(request, transport, head, (socket) => {
      handshakes.push(request);
      socket.on('error', () => undefined);
      script.onSocket?.(socket, transport, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    handshakes,
    sockets: upgrades.clients,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const transport of transports) transport.destroy();
      await closed;
    },
  };
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
