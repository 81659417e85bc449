import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { zstdDecompressSync } from 'node:zlib';

import { type WebSocket, WebSocketServer } from 'ws';

import { LocalServer } from '../local-server.js';
import { type RefusalReply, refusing, type Reply } from './reply.js';
import type { RequestBody, UpstreamCall } from './upstream-call.js';
import { refuseHttp, writeHttp } from './write-reply.js';

/** A request before it has an answer. */
export type PlainCall = Omit<UpstreamCall, 'context' | 'responseId'>;

/** How an upgrade is answered: with a socket that has these headers, with a refusal, or never. */
export type UpgradeReply = Readonly<Record<string, string>> | RefusalReply | 'hang';

/** Who decides on the answers. */
export interface Answerer {
  answer(call: PlainCall): Reply;
  answerListing(request: IncomingMessage): Reply | object;
  answerUpgrade(request: IncomingMessage): UpgradeReply;
  accept(socket: WebSocket, request: IncomingMessage, connection: number): void;
}

/** The HTTP server of an upstream: reads requests and writes what the answerer says. */
export class UpstreamListener extends LocalServer {
  private readonly upgradeHeaders = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
  private readonly webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, maxPayload: 2 ** 26 });

  constructor(private readonly answerer: Answerer) {
    const server = createServer({ keepAliveTimeout: 0 });
    super(server);
    server.on('request', (request, response) => void this.handle(request, response));
    server.on('upgrade', (request, socket: Duplex, head: Buffer) => this.upgrade(request, socket, head));
    this.webSockets.on('headers', (headers: string[], request: IncomingMessage) => {
      const reply = this.upgradeHeaders.get(request) ?? {};
      for (const [name, value] of Object.entries(reply)) headers.push(`${name}: ${value}`);
    });
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://upstream');
    response.on('error', () => undefined);
    if (request.method === 'GET' && pathname === '/v1/models') await this.list(request, response);
    else if (request.method === 'POST' && pathname === '/v1/responses') await this.ask(request, response);
    else refuseHttp(response, refusing(404));
  }

  private async ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts = await Array.fromAsync(request as AsyncIterable<Buffer>).catch(() => null);
    // The client may go away while it is still asking.
    if (parts === null) return;
    const bytes = Buffer.concat(parts);
    const reply = this.answerer.answer({
      transport: 'sse',
      url: request.url ?? '',
      headers: request.headers,
      body: parseBody(bytes, request.headers['content-encoding']),
      bytes: bytes.length,
      connection: this.numberOf(request.socket),
      closed: new Promise((resolve) => {
        response.once('close', () => {
          if (!response.writableFinished) resolve();
        });
      }),
    });
    await writeHttp(response, reply).catch(() => response.destroy());
  }

  private async list(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const listing = this.answerer.answerListing(request);
    if (listing === 'hang' || 'steps' in listing || 'error' in listing) await writeHttp(response, listing);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(listing));
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    const reply = this.answerer.answerUpgrade(request);
    if (reply === 'hang') return;
    if (isRefusal(reply)) {
      refuseUpgrade(socket, reply);
      return;
    }
    this.upgradeHeaders.set(request, reply);
    const connection = this.numberOf(request.socket);
    this.webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      this.answerer.accept(webSocket, request, connection),
    );
  }
}

function refuseUpgrade(socket: Duplex, { status, error, headers }: RefusalReply): void {
  const body = typeof error === 'string' ? error : JSON.stringify({ error });
  const all = { connection: 'close', 'content-length': String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} No\r\n${lines.join('')}\r\n${body}`);
}

function isRefusal(reply: Exclude<UpgradeReply, 'hang'>): reply is RefusalReply {
  return typeof reply['status'] === 'number';
}

function parseBody(bytes: Buffer, encoding: string | undefined): RequestBody {
  const text = encoding === 'zstd' ? zstdDecompressSync(bytes) : bytes;
  return JSON.parse(text.toString()) as RequestBody;
}
