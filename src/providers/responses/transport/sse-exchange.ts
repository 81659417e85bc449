import type { Clock } from '../../../time/index.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import { notUnderstood } from '../upstream-error.js';
import { broken, CLOSED_EARLY, isNetworkError, wordsOf } from './broken.js';
import { EventFeed } from './event-feed.js';
import type { AnswerTaker, Exchange, UpstreamHeaders } from './exchange.js';
import { IdleTimer } from './idle-timer.js';

/** How an event stream is read. */
export interface SseReading {
  /** Longest time between two events with data, ms; comments do not count. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** The event stream that answers an HTTP request. */
export class SseExchange implements Exchange {
  readonly transport = 'sse';
  readonly headers: UpstreamHeaders;
  private failure: Error | null = null;

  constructor(
    private readonly answer: UpstreamAnswer,
    private readonly reading: SseReading,
  ) {
    this.headers = answer.headers;
    answer.waiveTimeouts();
  }

  async read(taker: AnswerTaker): Promise<void> {
    this.refuseEncoding();
    const feed = new EventFeed(taker);
    const { clock, idleMs } = this.reading;
    const idle = new IdleTimer(clock, idleMs, () => this.fail(broken('idle timeout waiting for SSE')));
    try {
      await this.answer.read((piece) => this.take(piece, feed, taker, idle));
      if (!feed.isOver && this.failure === null && feed.end()) await taker.flush();
    } catch (error) {
      throw this.explain(error);
    } finally {
      idle.end();
    }
    if (feed.isOver) return;
    throw this.failure ?? broken(CLOSED_EARLY);
  }

  abort(): void {
    this.fail(broken('the answer was given up'));
  }

  private take(piece: Uint8Array, feed: EventFeed, taker: AnswerTaker, idle: IdleTimer): Promise<void> | undefined {
    if (!feed.read(piece)) return undefined;
    idle.touch();
    // The connection is reused if the server ends the body soon.
    if (feed.isOver) this.answer.complete();
    const waiting = taker.flush();
    if (waiting === undefined) return undefined;
    idle.pause();
    return waiting.then(() => idle.resume());
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.answer.abort();
  }

  private explain(error: unknown): unknown {
    const { signal } = this.reading;
    if (signal.aborted) return signal.reason;
    if (this.failure !== null) return this.failure;
    return isNetworkError(error) ? broken(wordsOf(error), error) : error;
  }

  private refuseEncoding(): void {
    const { compression } = this.answer;
    if (compression === null) return;
    this.answer.abort();
    throw notUnderstood(compression);
  }
}
