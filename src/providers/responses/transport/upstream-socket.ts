import type { IncomingMessage } from 'node:http';

import { WebSocket } from 'ws';

import type { Clock } from '../../../time/index.js';
import type { Baseline } from '../request/baseline.js';
import { broken, CLOSED_EARLY, wordsOf } from './broken.js';
import type { Exchange, UpstreamHeaders } from './exchange.js';
import { SocketExchange } from './socket-exchange.js';

/** Code of a socket that ended without a close frame. */
const NO_CLOSE_FRAME = 1006;

/** Answers to pings that wait to be sent, because the server does not read. */
const MOST_PONGS = 1024;

/** Who keeps a socket between its requests. */
export interface SocketOwner {
  /** The socket is free for another request. */
  onReleased(): void;
  /** The socket takes no further request. Called once. */
  onGone(): void;
}

/** What an UpstreamSocket needs. */
export interface UpstreamSocketDependencies {
  readonly owner: SocketOwner;
  readonly clock: Clock;
  /** Longest time for sending, and between two text messages of an answer, ms. */
  readonly idleMs: number;
}

/** A WebSocket to an upstream. It takes one request at a time. */
export class UpstreamSocket {
  /** The headers of the handshake. */
  readonly headers: UpstreamHeaders;
  /** What the last request on this socket was, if another may build on it. */
  baseline: Baseline | null = null;
  private current: SocketExchange | null = null;
  private isUsed = false;
  private isHeld = true;
  private wasReset = false;
  /** Answers to pings under way. */
  private pongs = 0;
  /** Why the socket is lost. */
  private loss: Error | null = null;

  /** Listeners are attached at once, so that nothing that arrives is missed. */
  constructor(
    private readonly socket: WebSocket,
    answer: IncomingMessage,
    private readonly dependencies: UpstreamSocketDependencies,
  ) {
    this.headers = answer.headers;
    answer.socket.once('error', () => (this.wasReset = true));
    socket.on('message', (data, isBinary) => this.take(data as Buffer, isBinary));
    socket.on('ping', (data) => this.answerPing(data));
    // A frame that breaks the rules of WebSocket.
    socket.on('error', (error) => this.lose(broken(wordsOf(error), error)));
    socket.on('close', (code, reason) => this.lose(this.endingOf(code, reason)));
  }

  /** Whether no request was answered on this socket yet. */
  get isNew(): boolean {
    return !this.isUsed;
  }

  /** Whether it can take a request, as far as one can know without sending it. */
  get isOpen(): boolean {
    return this.loss === null && this.socket.readyState === WebSocket.OPEN;
  }

  /**
   * Sends a request. Rejects with UpstreamError when the socket breaks or takes longer than the idle timeout, and with the reason of
   * the signal, which also ends the socket at once.
   */
  async send(frame: string, signal: AbortSignal): Promise<Exchange> {
    signal.throwIfAborted();
    if (this.loss !== null) throw this.loss;
    const { socket, headers } = this;
    const { clock, idleMs } = this.dependencies;
    const exchange = new SocketExchange({ socket, headers, idleMs, signal, clock });
    this.current = exchange;
    await exchange.send(frame);
    return exchange;
  }

  /** Gives the socket back for another request. It is dropped if its last answer was not read to the end. */
  release(): void {
    if (!this.isHeld) return;
    if (this.current?.isFinished === false || !this.isOpen) {
      this.drop();
      return;
    }
    this.isHeld = false;
    this.isUsed = true;
    this.current = null;
    this.dependencies.owner.onReleased();
  }

  /** Ends the socket at once, without a closing handshake. */
  drop(): void {
    if (this.current?.isFinished === false) this.current.abort();
    this.lose(broken('the connection was dropped'));
  }

  /** For its owner: the socket is used again. */
  hold(): void {
    this.isHeld = true;
  }

  /** For its owner: ends the socket with a closing handshake. Resolves when it is closed. */
  close(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return Promise.resolve();
    const closed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()));
    this.socket.close(1000);
    return closed;
  }

  private take(data: Buffer, isBinary: boolean): void {
    const { current } = this;
    // Outside of an answer a message belongs to no request.
    if (current === null || current.isFinished) this.drop();
    else if (isBinary) this.lose(broken('unexpected binary websocket event'));
    else current.take(data.toString());
  }

  private answerPing(data: Buffer): void {
    if (this.pongs >= MOST_PONGS) {
      this.lose(broken('websocket ping failed', new Error('the server does not read the answers to its pings')));
      return;
    }
    this.pongs += 1;
    this.socket.pong(data, true, (error?: Error | null) => {
      this.pongs -= 1;
      if (error != null) this.lose(broken('websocket ping failed', error));
    });
  }

  private endingOf(code: number, reason: Buffer): Error {
    if (code !== NO_CLOSE_FRAME) {
      const cause = new Error(`close frame ${code} ${JSON.stringify(reason.toString())}`);
      return broken('websocket closed by server before response.completed', cause);
    }
    return broken(this.wasReset ? 'Connection reset without closing handshake' : CLOSED_EARLY);
  }

  private lose(error: Error): void {
    if (this.loss !== null) return;
    this.loss = error;
    this.baseline = null;
    this.socket.terminate();
    this.current?.fail(error);
    this.dependencies.owner.onGone();
  }
}
