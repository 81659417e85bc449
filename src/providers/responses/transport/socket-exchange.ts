import type { WebSocket } from 'ws';

import type { Clock } from '../../../time/index.js';
import { type RunningStream, runningStreams } from '../../upstream-http/running-streams.js';
import { broken } from './broken.js';
import type { AnswerTaker, Exchange, UpstreamHeaders } from './exchange.js';
import { IdleTimer } from './idle-timer.js';

/** An answer begins with this many messages, which are passed on at once: four come before the first text. */
const FIRST_MESSAGES = 8;

/** Characters that wait to be passed on; the socket is paused beyond them. */
const MOST_WAITING = 64 * 1024;

/** What a SocketExchange needs. */
export interface SocketExchangeDependencies {
  readonly socket: WebSocket;
  /** Of the socket's handshake. */
  readonly headers: UpstreamHeaders;
  /** Longest time for sending, and between two text messages, ms. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** A request over a WebSocket, and the text messages that answer it. */
export class SocketExchange implements Exchange, RunningStream {
  readonly transport = 'websocket';
  readonly headers: UpstreamHeaders;
  private readonly idle: IdleTimer;
  private readonly sent = Promise.withResolvers<undefined>();
  private readonly done = Promise.withResolvers<undefined>();
  private taker: AnswerTaker | null = null;
  /** Messages that arrived before the reader, while it could take no more, or after the first ones, until it is their turn. */
  private readonly early: string[] = [];
  private waitingLength = 0;
  private messages = 0;
  /** Whether the messages are waiting for their turn. */
  private isDue = false;
  private isSent = false;
  private isOver = false;
  private isSettled = false;
  private isFlushDue = false;
  /** Whether the taker has asked to wait. */
  private isWaiting = false;
  /** Why no more messages arrive; reported behind those that did. */
  private failure: { readonly error: unknown } | null = null;
  private readonly onAbort = (): void => this.giveUp(this.dependencies.signal.reason);

  constructor(private readonly dependencies: SocketExchangeDependencies) {
    const { clock, idleMs, signal, headers } = dependencies;
    this.headers = headers;
    this.idle = new IdleTimer(clock, idleMs, () => this.expire());
    signal.addEventListener('abort', this.onAbort, { once: true });
    // Where the exchange is given up, nothing waits for its end.
    this.done.promise.catch(() => undefined);
  }

  /** Whether the answer was read to its end, so that the socket can take another request. */
  get isFinished(): boolean {
    return this.isOver;
  }

  /** Sends the frame. Resolves when it is on its way, or when an answer arrives before that; rejects as `read` does. */
  send(frame: string): Promise<unknown> {
    // An error closes the socket, which says more of it.
    this.dependencies.socket.send(frame, (error) => {
      if (error == null) this.markSent();
    });
    return Promise.race([this.sent.promise, this.done.promise]);
  }

  async read(taker: AnswerTaker): Promise<void> {
    this.taker = taker;
    this.idle.resume();
    this.goOn();
    await this.done.promise;
  }

  abort(): void {
    this.giveUp(broken('the answer was given up'));
  }

  /** A text message arrived. */
  take(json: string): void {
    this.idle.touch();
    this.markSent();
    this.messages += 1;
    if (this.taker === null || this.isWaiting) {
      if (this.early.push(json) === 1) this.dependencies.socket.pause();
    } else if (this.messages > FIRST_MESSAGES) {
      this.passInTurn(json);
    } else {
      this.pass(json, this.taker);
      if (this.isOver) this.flush();
      else this.flushSoon();
    }
  }

  /** Passes on what has arrived: this answer is under way, and it is its turn. */
  readOn(): void {
    this.isDue = false;
    if (!this.isWaiting) this.goOn();
  }

  /** The socket is lost: its messages are still delivered, then `read` rejects. */
  fail(error: unknown): void {
    if (this.isOver || this.isSettled) return;
    this.failure ??= { error };
    if (this.isFlushDue) this.flush();
    if (!this.isWaiting && this.early.length === 0) this.settle(this.failure);
  }

  /** Ends the exchange and the socket at once. */
  private giveUp(error: unknown): void {
    if (this.isSettled) return;
    this.dependencies.socket.terminate();
    this.settle({ error });
  }

  private expire(): void {
    const what = this.isSent ? 'waiting for websocket' : 'sending websocket request';
    this.giveUp(broken(`idle timeout ${what}`));
  }

  private markSent(): void {
    if (this.isSent) return;
    this.isSent = true;
    // The reader starts the time again.
    if (this.taker === null) this.idle.pause();
    this.sent.resolve(undefined);
  }

  private pass(json: string, taker: AnswerTaker): void {
    try {
      this.isOver = taker.take(json);
    } catch (error) {
      this.giveUp(error);
    }
  }

  /** Passes a message on after answers that begin. */
  private passInTurn(json: string): void {
    this.early.push(json);
    this.waitingLength += json.length;
    if (this.waitingLength > MOST_WAITING) this.dependencies.socket.pause();
    if (this.isDue) return;
    this.isDue = true;
    runningStreams.add(this);
  }

  /** Messages of one packet are passed on within one turn of the event loop, and share a flush. */
  private flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    process.nextTick(flushDue, this);
  }

  /** For `flushSoon`. */
  flushIfDue(): void {
    if (this.isFlushDue) this.flush();
  }

  private flush(): void {
    this.isFlushDue = false;
    if (this.isSettled) return;
    const waiting = this.taker?.flush();
    if (waiting === undefined) {
      if (this.isOver) this.settle(null);
      return;
    }
    this.isWaiting = true;
    this.idle.pause();
    this.dependencies.socket.pause();
    void waiting.then(() => {
      this.isWaiting = false;
      if (this.isSettled) return;
      this.idle.resume();
      this.goOn();
    });
  }

  /** Passes on what has come meanwhile, and reads on. */
  private goOn(): void {
    if (this.isSettled) return;
    if (this.early.length > 0 && !this.isOver) this.passEarly();
    if (this.isWaiting) return;
    if (this.isOver) this.settle(null);
    else if (this.failure !== null) this.settle(this.failure);
    else if (this.dependencies.socket.isPaused) this.dependencies.socket.resume();
  }

  private passEarly(): void {
    const { taker, early } = this;
    if (taker === null) return;
    this.waitingLength = 0;
    do this.pass(early.shift() ?? '', taker);
    while (early.length > 0 && !this.isOver && !this.isSettled);
    this.flush();
  }

  private settle(failure: { readonly error: unknown } | null): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { socket, signal } = this.dependencies;
    this.idle.end();
    signal.removeEventListener('abort', this.onAbort);
    // What follows the answer belongs to no request: who sends it is not trusted with another one.
    if (this.early.length > 0) socket.terminate();
    else socket.resume();
    if (failure === null) this.done.resolve(undefined);
    else this.done.reject(failure.error);
  }
}

function flushDue(exchange: SocketExchange): void {
  exchange.flushIfDue();
}
