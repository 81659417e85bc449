import type { Dispatcher } from 'undici';

import type { Clock } from '../../time/index.js';
import type { ExchangeTimer } from './exchange-timer.js';

/** What may still come behind the end of an answer: the last chunk of the HTTP body, and not much more. */
const MOST_REST_BYTES = 64 * 1024;
const MOST_REST_MS = 1000;

/** Takes a piece of a body. A promise holds the next piece back until it resolves; a failure ends the reading. */
export type TakePiece = (piece: Uint8Array) => Promise<void> | undefined;

/** What an upstream answered, its body still on the way. */
export class UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  private readonly body: Dispatcher.ResponseData['body'];
  private readonly over = Promise.withResolvers<undefined>();
  /** Its reader wants nothing more of it. */
  private isLeft = false;
  /** Its reader takes nothing before this resolves; it never rejects. */
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
    // From the beginning: a body may break before it is read, and an error that nobody listens to would end the process.
    body.once('end', () => void this.end()).on('error', (error) => void this.fail(error));
    this.over.promise.catch(() => undefined);
  }

  /**
   * Hands over the body as it comes, to its end or until it is left. Rejects with what `take` fails with, with the reason of the
   * signal, with UpstreamTimeoutError when the upstream is silent too long, and with what the connection died of.
   */
  async read(take: TakePiece): Promise<void> {
    this.body.on('readable', () => this.readOn(take));
    await this.over.promise;
  }

  /** What matters has come: the rest has `limitMs`, and then the body breaks with UpstreamTimeoutError. */
  limitRest(limitMs: number): void {
    this.exchangeTimer.limitRest(limitMs);
  }

  /** Everything has come: a connection whose body was read to the end serves the next request. */
  complete(): void {
    this.leave();
    const { body } = this;
    if (body.readableEnded || body.destroyed) return;
    const timer = this.clock.schedule(MOST_REST_MS, () => body.destroy());
    body.once('close', () => timer.cancel());
  }

  /** Nobody wants the rest: its connection is closed. */
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
    // What came last may not be taken yet.
    if (this.waiting !== null) await this.waiting;
    this.over.resolve(undefined);
  }

  private async fail(error: unknown): Promise<void> {
    const { signal } = this.exchangeTimer;
    this.exchangeTimer.end();
    // Behind what came before it; but who stops does not wait for that.
    if (!signal.aborted) await this.waiting;
    this.over.reject(signal.aborted ? signal.reason : error);
  }
}
