import type { Dispatcher } from 'undici';

import type { Clock } from '../../time/index.js';
import type { ExchangeTimer } from './exchange-timer.js';

/** Limits of the data after the end of an answer, which should be only the last chunk of the HTTP body. */
const MOST_REST_BYTES = 64 * 1024;
const MOST_REST_MS = 1000;

/** Handles a piece of a body. The next piece waits for a returned promise; a failure ends reading. */
export type TakePiece = (piece: Uint8Array) => Promise<void> | undefined;

/** The answer of an upstream, whose body is still arriving. */
export class UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  private readonly body: Dispatcher.ResponseData['body'];
  private readonly over = Promise.withResolvers<undefined>();
  /** Whether the reader has finished; remaining data is dropped. */
  private isLeft = false;
  /** The reader is busy until this resolves; it never rejects. */
  private waiting: Promise<void> | null = null;
  private restBytes = 0;

  constructor(
    { statusCode, headers, body }: Dispatcher.ResponseData,
    private readonly exchangeTimer: ExchangeTimer,
    private readonly clock: Clock,
  ) {
    this.status = statusCode;
    this.headers = headers;
    this.body = body;
    // Attached at once: the body may fail before it is read, and an unhandled 'error' event would end the process.
    body.once('end', () => void this.end()).on('error', (error) => void this.fail(error));
    this.over.promise.catch(() => undefined);
  }

  /**
   * Passes the body to `take` until it ends, or until `complete` or `abort`. Rejects with the error of `take`, the reason of the
   * signal, UpstreamTimeoutError, or the error of a broken connection.
   */
  async read(take: TakePiece): Promise<void> {
    this.body.on('readable', () => this.readOn(take));
    await this.over.promise;
  }

  /** How the body is compressed, although `accept-encoding: identity` was sent: some proxies ignore it. Null if it is not. */
  get encoding(): string | null {
    const encoding = String(this.headers['content-encoding'] ?? 'identity');
    return encoding === 'identity' ? null : encoding;
  }

  /** Ends the timeouts of the address: the reader has one of its own. */
  waiveTimeouts(): void {
    this.exchangeTimer.waive();
  }

  /** Limits the time for the rest of the body; then it fails with UpstreamTimeoutError. */
  limitRest(limitMs: number): void {
    this.exchangeTimer.limitRest(limitMs);
  }

  /** Ends reading and drains the body, so that the connection can be reused. */
  complete(): void {
    this.leave();
    const { body } = this;
    if (body.readableEnded || body.destroyed) return;
    const timer = this.clock.schedule(MOST_REST_MS, () => body.destroy());
    body.once('close', () => timer.cancel());
  }

  /** Ends reading and closes the connection. */
  abort(): void {
    this.leave();
    this.body.destroy();
  }

  private readOn(take: TakePiece): void {
    const { body } = this;
    while ((this.waiting === null || this.isLeft) && !body.destroyed) {
      const piece = body.read() as Uint8Array | null;
      if (piece === null) return;
      if (this.isLeft) this.drop(piece);
      else this.handOver(piece, take);
    }
  }

  private handOver(piece: Uint8Array, take: TakePiece): void {
    this.exchangeTimer.pause();
    try {
      const waiting = take(piece);
      if (waiting !== undefined) this.waiting = this.wait(waiting, take);
      else this.goOn();
    } catch (error) {
      this.abandon(error);
    }
  }

  private async wait(waiting: Promise<void>, take: TakePiece): Promise<void> {
    try {
      await waiting;
      this.goOn();
    } catch (error) {
      this.abandon(error);
    }
    this.waiting = null;
    this.readOn(take);
  }

  private goOn(): void {
    if (this.isLeft) this.over.resolve(undefined);
    else if (!this.body.destroyed && !this.body.readableEnded) this.exchangeTimer.resume();
  }

  private abandon(error: unknown): void {
    this.over.reject(error);
    this.abort();
  }

  private drop({ byteLength }: Uint8Array): void {
    this.restBytes += byteLength;
    if (this.restBytes > MOST_REST_BYTES) this.body.destroy();
  }

  private leave(): void {
    this.isLeft = true;
    this.exchangeTimer.end();
  }

  private async end(): Promise<void> {
    this.exchangeTimer.end();
    // The last piece may still be processed.
    if (this.waiting !== null) await this.waiting;
    this.over.resolve(undefined);
  }

  private async fail(error: unknown): Promise<void> {
    const { signal } = this.exchangeTimer;
    this.exchangeTimer.end();
    // Earlier pieces are processed first, unless the turn was stopped.
    if (!signal.aborted) await this.waiting;
    this.over.reject(signal.aborted ? signal.reason : error);
  }
}
