import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  Http2ServerResponse,
  type Http2Session,
} from 'node:http2';
import { join } from 'node:path';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { zstdDecompressSync } from 'node:zlib';

import { LocalServer } from './local-server.js';
import { Notifier } from './notifier.js';

/** What becomes of the connection when all packets are written. */
export type ReplyEnd = 'end' | 'cut' | 'reset' | 'stall';

/** What an upstream writes over HTTP. `silent` writes nothing, not even a head, and keeps the connection open. */
export type HttpReply =
  | 'silent'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Written one by one; while the upstream is held, each waits for its release. A promise is waited for. */
      readonly packets: Iterable<Uint8Array | Promise<unknown>>;
      readonly end: ReplyEnd;
    };

/** Lets packets pass one by one, as a test says. */
export class PacketGate {
  private readonly changes = new EventEmitter().setMaxListeners(0);

  /** `permits` packets pass at once; the others wait. */
  constructor(private permits = Infinity) {}

  /** Lets so many packets pass: those that wait, then those that come. */
  open(count: number): void {
    this.permits += count;
    this.changes.emit('open');
  }

  /** Gives true when it is this packet's turn, false when the signal aborted before that. */
  async pass(signal: AbortSignal): Promise<boolean> {
    while (this.permits < 1 && !signal.aborted) {
      await once(this.changes, 'open', { signal }).catch(() => undefined);
    }
    if (signal.aborted) return false;
    this.permits -= 1;
    return true;
  }
}

/** The body of a request, as far as tests look into it. */
export interface UpstreamBody {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly Readonly<Record<string, unknown>>[];
  readonly [member: string]: unknown;
}

/** A request that an upstream got, and what is written back. */
export class UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** Resolves when the client hung up before the answer was over. */
  readonly closed: Promise<void>;
  /** Whether it did. */
  isClosed = false;
  /** Parsed JSON; an empty object when there is none. */
  body: UpstreamBody = {};
  /** Length of the body as it was sent; compressed ones as they came. */
  bytes = 0;
  /** Packets of the answer written so far; the one that waits for room in the socket's buffers included. */
  written = 0;
  private isBlocked = false;
  private readonly over = new AbortController();
  private readonly changes = new EventEmitter();

  constructor(
    private readonly request: IncomingMessage | Http2ServerRequest,
    private readonly response: ServerResponse | Http2ServerResponse,
    /** Which of the upstream's connections it came over, counted from 1. */
    readonly connection: number,
  ) {
    this.method = request.method ?? '';
    this.url = request.url ?? '';
    this.headers = request.headers;
    this.httpVersion = request.httpVersion;
    this.closed = new Promise((resolve) => {
      response.once('close', () => {
        // What a client resets counts as finished over HTTP/2.
        const isWhole = response instanceof Http2ServerResponse ? response.writableEnded : response.writableFinished;
        this.isClosed = !isWhole && !this.over.signal.aborted;
        this.over.abort();
        if (this.isClosed) resolve();
      });
    });
    response.on('error', () => undefined);
  }

  /** Method and path, without the query. */
  get route(): string {
    return `${this.method} ${new URL(this.url, 'http://upstream').pathname}`;
  }

  /** Reads the body. */
  async read(): Promise<void> {
    const sent = Buffer.concat(await Array.fromAsync(this.request as AsyncIterable<Buffer>));
    this.bytes = sent.length;
    const text = (this.headers['content-encoding'] === 'zstd' ? zstdDecompressSync(sent) : sent).toString();
    if (text !== '') this.body = JSON.parse(text) as UpstreamBody;
  }

  /** Writes a reply; every packet and the end pass the gate. Ends early when the client hangs up. */
  async answer(reply: HttpReply, gate = new PacketGate()): Promise<void> {
    if (reply === 'silent') return;
    this.response.statusCode = reply.status;
    for (const [name, value] of Object.entries(reply.headers)) this.response.setHeader(name, value);
    // The types forget that both have it.
    (this.response as ServerResponse).flushHeaders();
    for (const packet of reply.packets) {
      if (!(await gate.pass(this.over.signal))) return;
      await (packet instanceof Uint8Array ? this.write(packet) : packet);
    }
    if (!(await gate.pass(this.over.signal))) return;
    if (reply.end === 'end') this.response.end();
    if (reply.end === 'cut' || reply.end === 'reset') this.break(reply.end);
  }

  /** Resolves as soon as the answer waits for the client to read. */
  async blocked(): Promise<void> {
    if (!this.isBlocked) await once(this.changes, 'blocked');
  }

  /** Breaks the connection (or the HTTP/2 stream) off without a proper end. */
  break(how: 'cut' | 'reset' = 'reset'): void {
    this.over.abort();
    if (this.response instanceof Http2ServerResponse) this.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (how === 'cut') this.response.socket?.destroy();
    else this.response.socket?.resetAndDestroy();
  }

  private async write(packet: Uint8Array): Promise<void> {
    this.written += 1;
    // Types of the two responses overload differently; both take bytes.
    const hasRoom = (this.response as ServerResponse).write(packet);
    if (!hasRoom && !this.over.signal.aborted) await this.drain();
    // A turn of the event loop sends it, another one lets a client in this process read it: packets stay packets.
    await nextLoopTurn();
    await nextLoopTurn();
  }

  private async drain(): Promise<void> {
    this.isBlocked = true;
    this.changes.emit('blocked');
    await once(this.response, 'drain', { signal: this.over.signal }).catch(() => undefined);
    this.isBlocked = false;
  }
}

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

/**
 * A server that answers what a test tells it to, one reply per request: the reply, or what makes one of the request once it
 * is there.
 */
export abstract class UpstreamServer<Request, Reply extends object | string> extends LocalServer {
  /** Told of every request. */
  protected readonly arrivals = new Notifier();
  private readonly replies: (Reply | ((request: Request) => Reply))[] = [];
  private readonly sessions = new Set<Http2Session>();
  private readonly sessionNumbers = new WeakMap<Http2Session, number>();

  protected constructor(
    private readonly protocol: UpstreamProtocol,
    private fallback: Reply | ((request: Request) => Reply),
  ) {
    const server = protocol === 'http' ? createServer(KEPT_ALIVE) : createTlsServer();
    super(server, protocol === 'http' ? 'connection' : 'secureConnection');
    // Both servers give the same kinds of requests and responses; their overloads do not unite.
    (server as Server).on('request', (request, response) => void this.serve(request, response));
    server.on('session', (session: Http2Session) => {
      this.sessionNumbers.set(session, this.connections);
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session)).on('error', () => undefined);
    });
    server.on('sessionError', () => undefined);
  }

  override get origin(): string {
    return `${this.protocol}://127.0.0.1:${this.port}`;
  }

  /** Answers the next requests that have no reply yet, one each. */
  respond(...replies: readonly (Reply | ((request: Request) => Reply))[]): this {
    this.replies.push(...replies);
    return this;
  }

  /** Answers every request for which there is nothing else. */
  alwaysRespond(reply: Reply | ((request: Request) => Reply)): this {
    this.fallback = reply;
    return this;
  }

  override dropConnections(): void {
    for (const session of this.sessions) session.destroy();
    super.dropConnections();
  }

  /** The reply whose turn it is. */
  protected replyTo(request: Request): Reply {
    const reply = this.replies.shift() ?? this.fallback;
    return typeof reply === 'function' ? (reply as (request: Request) => Reply)(request) : reply;
  }

  /** Answers a request whose body is read. */
  protected abstract handle(request: UpstreamRequest): Promise<void>;

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { stream } = incoming as unknown as { readonly stream?: { readonly session?: Http2Session } };
    const session = stream?.session;
    const number = session === undefined ? this.numberOf(incoming.socket) : this.sessionNumbers.get(session);
    const request = new UpstreamRequest(incoming, response, number ?? 0);
    try {
      await request.read();
      await this.handle(request);
    } catch {
      // The client went away while it was still asking.
      request.break();
    }
  }
}

function createTlsServer(): Http2SecureServer {
  const key = readTestMaterial('test-only.key.pem');
  return createSecureServer({ ...KEPT_ALIVE, allowHTTP1: true, cert: TEST_CERTIFICATE, key });
}

function readTestMaterial(name: string): string {
  return readFileSync(join(import.meta.dirname, 'tls', name), 'utf8');
}
