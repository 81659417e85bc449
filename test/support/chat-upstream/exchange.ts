import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { Reply } from './reply.js';
import type { ChatBody, UpstreamRequest } from './upstream-request.js';

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

/** A request and what is written back. */
export class Exchange implements UpstreamRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: UpstreamRequest['headers'];
  readonly httpVersion: string;
  readonly closed: Promise<void>;
  body: ChatBody = {};
  isClosed = false;
  written = 0;
  private isBlocked = false;
  private readonly over = new AbortController();
  private readonly changes = new EventEmitter();

  constructor(
    private readonly request: IncomingMessage | Http2ServerRequest,
    private readonly response: ServerResponse | Http2ServerResponse,
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

  /** Reads the body. */
  async read(): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of this.request as AsyncIterable<Buffer>) parts.push(part);
    const text = Buffer.concat(parts).toString();
    if (text !== '') this.body = JSON.parse(text) as ChatBody;
  }

  /** Writes a reply; every packet and the end pass the gate. Ends early when the client hangs up. */
  async answer(reply: Reply, gate: PacketGate): Promise<void> {
    if (reply === 'silent') return;
    this.response.statusCode = reply.status;
    for (const [name, value] of Object.entries(reply.headers)) this.response.setHeader(name, value);
    // The types forget that both have it.
    (this.response as ServerResponse).flushHeaders();
    for (const packet of reply.packets) {
      if (!(await gate.pass(this.over.signal))) return;
      await this.write(packet);
    }
    if (!(await gate.pass(this.over.signal))) return;
    if (reply.end === 'end') this.response.end();
    if (reply.end === 'cut') this.cut();
    if (reply.end === 'reset') this.reset();
  }

  async blocked(): Promise<void> {
    if (!this.isBlocked) await once(this.changes, 'blocked');
  }

  /** Breaks the connection (or the HTTP/2 stream) off without a proper end. */
  reset(): void {
    this.over.abort();
    if (this.response instanceof Http2ServerResponse) this.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else this.response.socket?.resetAndDestroy();
  }

  private cut(): void {
    this.over.abort();
    if (this.response instanceof Http2ServerResponse) this.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else this.response.socket?.destroy();
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
