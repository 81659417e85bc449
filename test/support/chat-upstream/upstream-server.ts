import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2Session } from 'node:http2';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { LocalServer } from '../local-server.js';
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
export class UpstreamServer extends LocalServer {
  private readonly sessions = new Set<Http2Session>();
  private readonly sessionNumbers = new WeakMap<Http2Session, number>();

  private constructor(
    private readonly protocol: UpstreamProtocol,
    handle: (exchange: Exchange) => void,
  ) {
    const server = protocol === 'http' ? createServer(KEPT_ALIVE) : createTlsServer();
    super(server, protocol === 'http' ? 'connection' : 'secureConnection');
    // Both servers give the same kinds of requests and responses; their overloads do not unite.
    (server as Server).on('request', (request, response) => {
      const { stream } = request as unknown as { readonly stream?: { readonly session?: Http2Session } };
      const session = stream?.session;
      const number = session === undefined ? this.numberOf(request.socket) : this.sessionNumbers.get(session);
      handle(new Exchange(request, response, number ?? 0));
    });
    server.on('session', (session: Http2Session) => {
      this.sessionNumbers.set(session, this.connections);
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session)).on('error', () => undefined);
    });
    server.on('sessionError', () => undefined);
  }

  /** Starts one. */
  static start(protocol: UpstreamProtocol, handle: (exchange: Exchange) => void): Promise<UpstreamServer> {
    return new UpstreamServer(protocol, handle).listen();
  }

  override get origin(): string {
    return `${this.protocol}://127.0.0.1:${this.port}`;
  }

  override dropConnections(): void {
    for (const session of this.sessions) session.destroy();
    super.dropConnections();
  }
}

function createTlsServer(): Http2SecureServer {
  const key = readTestMaterial('test-only.key.pem');
  return createSecureServer({ ...KEPT_ALIVE, allowHTTP1: true, cert: TEST_CERTIFICATE, key });
}

function readTestMaterial(name: string): string {
  return readFileSync(join(import.meta.dirname, 'tls', name), 'utf8');
}
