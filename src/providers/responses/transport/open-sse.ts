import type { Clock } from '../../../time/index.js';
import { readText } from '../../upstream-http/read-text.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import type { UpstreamClient } from '../../upstream-http/upstream-client.js';
import { isNetworkError, unanswered } from './broken.js';
import { AnswerRefusedError, type Exchange } from './exchange.js';
import { SseExchange } from './sse-exchange.js';

/** A request whose answer is an event stream. */
export interface SseRequest {
  /** JSON. */
  readonly body: string;
  /** Headers beside those of the address; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the body is compressed with zstd. */
  readonly compresses: boolean;
  /** Longest time between two events, ms. */
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
