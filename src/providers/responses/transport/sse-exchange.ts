import type { Clock } from '../../../time/index.js';
import { readText } from '../../upstream-http/read-text.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import type { UpstreamClient } from '../../upstream-http/upstream-client.js';
import { notUnderstood } from '../upstream-error.js';
import { broken, CLOSED_EARLY, isNetworkError, unanswered, wordsOf } from './broken.js';
import { EventFeed } from './event-feed.js';
import { AnswerRefusedError, type AnswerTaker, type Exchange, type UpstreamHeaders } from './exchange.js';
import { IdleTimer } from './idle-timer.js';

/** A request whose answer is an event stream. */
export interface SseRequest {
  /** JSON. */
  readonly body: string;
  /** Headers beside those of the address; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the body is compressed with zstd. */
  readonly compresses: boolean;
  /** Longest time between two events with data, ms; comments do not count. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Posts a request to `/responses`. Throws AnswerRefusedError for a status other than 2xx, UpstreamError for a connection that
 * cannot be established, breaks or stays silent before the answer, and the reason of the signal.
 */
export async function openSse(client: UpstreamClient, request: SseRequest): Promise<Exchange> {
  const answer = await post(client, request);
  if (answer.status < 200 || answer.status > 299) throw await refusalOf(answer, request.signal);
  return new SseExchange(answer, request);
}

async function post(client: UpstreamClient, request: SseRequest): Promise<UpstreamAnswer> {
  const { body, compresses, signal } = request;
  const headers = { accept: 'text/event-stream', ...request.headers };
  try {
    return await client.post('/responses', body, signal, { headers, compresses });
  } catch (error) {
    signal.throwIfAborted();
    throw isNetworkError(error) ? unanswered(error) : error;
  }
}

async function refusalOf(answer: UpstreamAnswer, signal: AbortSignal): Promise<AnswerRefusedError> {
  // The status says enough if the body breaks.
  const text = await readText(answer).catch(() => '');
  signal.throwIfAborted();
  return new AnswerRefusedError(answer.status, answer.headers, text);
}

/** The event stream that answers an HTTP request. */
class SseExchange implements Exchange {
  readonly transport = 'sse';
  readonly headers: UpstreamHeaders;
  private failure: Error | null = null;

  constructor(
    private readonly answer: UpstreamAnswer,
    private readonly request: SseRequest,
  ) {
    this.headers = answer.headers;
    answer.waiveTimeouts();
  }

  async read(taker: AnswerTaker): Promise<void> {
    this.refuseEncoding();
    const feed = new EventFeed(taker);
    const { clock, idleMs } = this.request;
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
    const { signal } = this.request;
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
