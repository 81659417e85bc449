import type { Dispatcher } from 'undici';

import type { Clock, Timer } from '../../time/index.js';
import { quotableName } from '../redact.js';
import type { ExchangeTimer } from './exchange-timer.js';
import { type RunningStream, runningStreams } from './running-streams.js';

/** Limits of the data after the end of an answer, which should be only the last chunk of the HTTP body. */
const MOST_REST_BYTES = 64 * 1024;
const MOST_REST_MS = 1000;

/** Received bytes that wait for the reader; the connection is paused beyond them. */
const MOST_WAITING_BYTES = 64 * 1024;

/** An answer begins with this many pieces, which are read at once: servers often send the role before the first text. */
const FIRST_PIECES = 3;

/** Values of `content-encoding` of a body that is not compressed; some servers write its charset there. */
const NO_ENCODING = /^(?:|identity|none|utf-?8)$/i;

/** Handles a piece of a body. The next piece waits for a returned promise; a failure ends reading. */
export type TakePiece = (piece: Uint8Array) => Promise<void> | undefined;

/**
 * The answer of an upstream to one request: undici's handler of it, and what the caller reads. It has no stream in between: each
 * piece of the body goes from the parser of HTTP to the reader.
 */
export class UpstreamAnswer implements Dispatcher.DispatchHandler, RunningStream {
  status = 0;
  headers: Readonly<Record<string, string | readonly string[] | undefined>> = {};
  private controller: Dispatcher.DispatchController | null = null;
  private readonly begun = Promise.withResolvers<this>();
  private readonly over = Promise.withResolvers<undefined>();
  private take: TakePiece | null = null;
  /** What has arrived and was not read yet, in order. */
  private pieces: Uint8Array[] = [];
  private waitingBytes = 0;
  private piecesRead = 0;
  /** Whether a reading is scheduled. */
  private isDue = false;
  /** Whether the reader is busy, until a promise of its own resolves. */
  private isBusy = false;
  /** Whether the reader has finished; remaining data is dropped. */
  private isLeft = false;
  private restBytes = 0;
  private restTimer: Timer | null = null;
  private hasEnded = false;
  /** Why there is no more of it. */
  private failure: { readonly error: unknown } | null = null;

  constructor(
    private readonly exchangeTimer: ExchangeTimer,
    private readonly clock: Clock,
  ) {
    exchangeTimer.exchange = this;
    // Both can reject before anything awaits them.
    this.begun.promise.catch(() => undefined);
    this.over.promise.catch(() => undefined);
  }

  /** Resolves with the answer once its head has arrived. Rejects with the error of the connection, or as `read` does. */
  get head(): Promise<this> {
    return this.begun.promise;
  }

  /**
   * Passes the body to `take` until it ends, or until `complete` or `abort`. Rejects with the error of `take`, the reason of the
   * signal, UpstreamTimeoutError, or the error of a broken connection.
   */
  async read(take: TakePiece): Promise<void> {
    this.take = take;
    this.readOn();
    await this.over.promise;
  }

  /**
   * Says how the body is compressed, in words for an error, although `accept-encoding: identity` was sent: some proxies ignore it. Null if
   * it is not.
   */
  get compression(): string | null {
    const encoding = String(this.headers['content-encoding'] ?? '').trim();
    return NO_ENCODING.test(encoding)
      ? null
      : `a body with \`content-encoding: ${quotableName(encoding)}\`, which was not asked for`;
  }

  /** Ends the timeouts of the address: the reader has one of its own. */
  waiveTimeouts(): void {
    this.exchangeTimer.waive();
  }

  /** Limits the time for the rest of the body; then it fails with UpstreamTimeoutError. */
  limitRest(limitMs: number): void {
    this.exchangeTimer.limitRest(limitMs);
  }

  /** Takes `limitRest` back. */
  liftRest(): void {
    this.exchangeTimer.liftRest();
  }

  /** Ends reading and drains the body, so that the connection can be reused. */
  complete(): void {
    this.leave();
    if (this.hasEnded || this.failure !== null) return;
    this.restTimer = this.clock.schedule(MOST_REST_MS, () => this.disconnect());
    this.controller?.resume();
  }

  /** Ends reading and closes the connection. */
  abort(): void {
    this.leave();
    this.disconnect();
  }

  /** The turn was stopped, or a timeout was exceeded: what has arrived is not read any more. */
  stop(reason: unknown): void {
    if (this.hasEnded || this.failure !== null) return;
    this.failure = { error: reason };
    this.pieces = [];
    this.exchangeTimer.end();
    this.begun.reject(reason);
    this.over.reject(reason);
    this.controller?.abort(reason as Error);
  }

  /** Reads what has arrived, unless the reader is busy. */
  readOn(): void {
    this.isDue = false;
    const { take, pieces } = this;
    if (take === null || this.isBusy) return;
    const [first] = pieces;
    if (first === undefined || this.isLeft) {
      this.finish();
      return;
    }
    this.pieces = [];
    this.waitingBytes = 0;
    this.handOver(pieces.length === 1 ? first : Buffer.concat(pieces), take);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failure !== null) controller.abort(this.failure.error as Error);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  ): void {
    // An interim response, such as 103.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.begun.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.isLeft) {
      this.drop(piece);
      return;
    }
    this.pieces.push(piece);
    this.waitingBytes += piece.byteLength;
    if (this.waitingBytes > MOST_WAITING_BYTES) controller.pause();
    this.schedule();
  }

  onResponseEnd(): void {
    this.hasEnded = true;
    this.restTimer?.cancel();
    this.exchangeTimer.end();
    this.schedule();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failure ??= { error };
    this.begun.reject(error);
    // Without a head, the request may be sent again.
    if (this.status === 0) return;
    this.restTimer?.cancel();
    this.exchangeTimer.end();
    // Earlier pieces are read first.
    this.schedule();
  }

  private schedule(): void {
    if (this.isDue || this.isBusy || this.take === null) return;
    this.isDue = true;
    // Behind the other pieces of the same read of the socket.
    if (this.piecesRead < FIRST_PIECES) queueMicrotask(() => this.readOn());
    else runningStreams.add(this);
  }

  private handOver(piece: Uint8Array, take: TakePiece): void {
    this.piecesRead += 1;
    this.exchangeTimer.pause();
    try {
      const waiting = take(piece);
      if (waiting !== undefined) void this.wait(waiting);
      else this.goOn();
    } catch (error) {
      this.abandon(error);
    }
  }

  private async wait(waiting: Promise<void>): Promise<void> {
    this.isBusy = true;
    try {
      await waiting;
    } catch (error) {
      this.abandon(error);
      return;
    } finally {
      this.isBusy = false;
    }
    this.goOn();
  }

  /** After a piece, or several that were read as one. */
  private goOn(): void {
    if (this.isLeft || this.hasEnded || this.failure !== null) {
      this.readOn();
      return;
    }
    this.exchangeTimer.resume();
    if (this.pieces.length > 0) this.schedule();
    this.controller?.resume();
  }

  /** Ends reading, if the answer has ended. */
  private finish(): void {
    if (this.isLeft || this.hasEnded) this.over.resolve(undefined);
    else if (this.failure !== null) this.over.reject(this.failure.error);
  }

  private abandon(error: unknown): void {
    this.over.reject(error);
    this.abort();
  }

  private drop({ byteLength }: Uint8Array): void {
    this.restBytes += byteLength;
    if (this.restBytes > MOST_REST_BYTES) this.disconnect();
  }

  private leave(): void {
    this.isLeft = true;
    for (const piece of this.pieces.splice(0)) this.drop(piece);
    this.exchangeTimer.end();
    this.schedule();
  }

  private disconnect(): void {
    this.restTimer?.cancel();
    if (this.hasEnded || this.failure !== null) return;
    this.failure = { error: new Error('the answer was left before its end') };
    this.controller?.abort(this.failure.error as Error);
  }
}
