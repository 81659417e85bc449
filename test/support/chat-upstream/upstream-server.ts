import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { Exchange } from './exchange.js';

/** What the upstream speaks: HTTP/1.1 in the open, or HTTP/2 and HTTP/1.1 over TLS. */
export type UpstreamProtocol = 'http' | 'https';

/** Only a client closes a connection, not the time between two requests. */
const KEPT_ALIVE = { keepAliveTimeout: 0 };

/** The certificate of `localhost` and `127.0.0.1` that upstreams over TLS show; its key is no secret. */
export const TEST_CERTIFICATE = readTestMaterial('test-only.cert.pem');

/** Makes this process trust upstreams over TLS. */
export function trustTestCertificate(): void {
  const trusted = getCACertificates('default');
  if (!trusted.includes(TEST_CERTIFICATE)) setDefaultCACertificates([...trusted, TEST_CERTIFICATE]);
}

/** A real server that hands on every request with the number of its connection. */
export class UpstreamServer {
  private readonly sockets = new Set<Socket>();
  private readonly sessions = new Set<Http2Session>();
  private readonly numbers = new WeakMap<object, number>();
  private count = 0;

  private constructor(
    private readonly server: Server | Http2SecureServer,
    private readonly protocol: UpstreamProtocol,
    handle: (exchange: Exchange) => void,
  ) {
    this.countConnections();
    // Both servers give the same kinds of requests and responses; their overloads do not unite.
    (server as Server).on('request', (request, response) => {
      const { stream } = request as unknown as { readonly stream?: { readonly session?: Http2Session } };
      handle(new Exchange(request, response, this.numbers.get(stream?.session ?? request.socket) ?? 0));
    });
  }

  /** Listens on a free port of the loopback interface. */
  static async listen(protocol: UpstreamProtocol, handle: (exchange: Exchange) => void): Promise<UpstreamServer> {
    const server = protocol === 'http' ? createServer(KEPT_ALIVE) : createTlsServer();
    const upstream = new UpstreamServer(server, protocol, handle);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `${this.protocol}://127.0.0.1:${this.port}`;
  }

  /** Connections opened so far. */
  get connections(): number {
    return this.count;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.sockets.size;
  }

  /** Closes the connections that are open. */
  dropConnections(): void {
    for (const session of this.sessions) session.destroy();
    for (const socket of this.sockets) socket.destroy();
  }

  /** Closes connections and port; whoever connects is refused. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.dropConnections();
    await closed;
  }

  private countConnections(): void {
    // A TLS server hands requests the wrapped socket; the HTTP/2 ones among them are known by their session.
    this.server.prependListener(this.protocol === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.count += 1;
      this.numbers.set(socket, this.count);
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    this.server.on('session', (session: Http2Session) => {
      this.numbers.set(session, this.count);
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
      session.on('error', () => undefined);
    });
    this.server.on('sessionError', () => undefined);
  }
}

function createTlsServer(): Http2SecureServer {
  const key = readTestMaterial('test-only.key.pem');
  return createSecureServer({ ...KEPT_ALIVE, allowHTTP1: true, cert: TEST_CERTIFICATE, key });
}

function readTestMaterial(name: string): string {
  return readFileSync(join(import.meta.dirname, 'tls', name), 'utf8');
}
