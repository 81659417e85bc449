import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import type { RawData, WebSocket } from 'ws';

import type { ConversationState } from './conversation-state.js';
import type { Reply } from './reply.js';
import type { PlainCall, RequestBody } from './upstream-call.js';
import { writeSocket } from './write-reply.js';

/** A WebSocket at the upstream's end. */
export class UpstreamConnection {
  /** Path and query of the upgrade. */
  readonly url: string;
  /** Headers of the upgrade. */
  readonly headers: IncomingHttpHeaders;
  /** Resolves with the code when the socket is closed; 1006 without a close frame. */
  readonly closed: Promise<number>;
  /** Resolves when the client has answered a ping. */
  readonly ponged: Promise<void>;
  isOpen = true;
  /** Requests that came over it. */
  requests = 0;
  private answered: Promise<void> = Promise.resolve();

  constructor(
    private readonly socket: WebSocket,
    request: IncomingMessage,
    readonly connection: number,
    readonly state: ConversationState,
    private readonly take: (call: PlainCall) => Reply,
  ) {
    this.url = request.url ?? '';
    this.headers = request.headers;
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number) => {
        this.isOpen = false;
        resolve(code);
      });
    });
    this.ponged = new Promise((resolve) => {
      socket.once('pong', () => resolve());
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => this.receive(data));
  }

  /** Sends a frame that nobody asked for. */
  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Closes it with a close frame. */
  close(code = 1000): Promise<number> {
    this.socket.close(code);
    return this.closed;
  }

  /** Breaks its connection off. */
  terminate(): Promise<number> {
    this.socket.terminate();
    return this.closed;
  }

  private receive(data: RawData): void {
    this.requests += 1;
    const bytes = Buffer.from(data as Buffer);
    const before = this.answered;
    let isAnswered = false;
    const reply = this.take({
      transport: 'websocket',
      url: this.url,
      headers: this.headers,
      body: JSON.parse(bytes.toString()) as RequestBody,
      bytes: bytes.length,
      connection: this.connection,
      closed: new Promise((resolve) => {
        void this.closed.then(() => {
          if (!isAnswered) resolve();
        });
      }),
    });
    this.answered = before.then(async () => {
      await writeSocket(this.socket, reply).catch(() => this.socket.terminate());
      isAnswered = reply !== 'hang' && !('end' in reply && reply.end === 'silence');
    });
  }
}
