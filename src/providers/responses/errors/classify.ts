import { describeFailure, readFailure, type UpstreamFailure } from '../../upstream-errors/index.js';
import { isObject } from '../../../validation/index.js';
import type { UpstreamHeaders } from '../transport/exchange.js';
import { type Remedy, UpstreamError, type UpstreamErrorOptions } from '../upstream-error.js';
import type { FailureContext } from './failure-context.js';
import { readRetryAt } from './retry-delay.js';

/** A refused request: an answer other than 2xx, or a refused handshake. */
export interface Refusal {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  /** The beginning of the body. */
  readonly text: string;
}

/** The upstream does not know the response that the request continues. */
const FORGOTTEN = 'previous_response_not_found';

/** The socket is too old: a new one takes the same request. */
const SOCKET_TOO_OLD = 'websocket_connection_limit_reached';

/** Types and codes of a 429 that waiting does not help. */
const EXHAUSTED =
  /^(?:usage_limit_reached|usage_not_included|insufficient_quota|credit_balance_exhausted|\w+_(?:spend|usage)_limit_exceeded|flex_unavailable)$/;

const OVERLOADED = 'server_is_overloaded';

/**
 * The failure of an HTTP request or of a WebSocket handshake, by its status. Statuses that say that the request, the model or the
 * credentials are at fault are not retried.
 */
export function classifyHttp(
  { status, headers, text }: Refusal,
  transport: 'sse' | 'websocket',
  context: FailureContext,
): UpstreamError {
  const options = classifyStatus(status, headers, readFailure(text), context);
  if (status === 426 && transport === 'websocket') return refused(status, { ...options, remedy: 'http' });
  return refused(status, { ...options, isRequestLevel: transport === 'sse' && status >= 500 });
}

/** `error` of `response.failed` (upstreams §6). */
export function classifyFailed(error: unknown, context: FailureContext): UpstreamError {
  const { profile } = context;
  const failure = describeFailure(error);
  const { code, message } = failure;
  const headers = headersOf(error);
  const retryAt = readRetryAt({ headers, code, message }, context);
  const isFatal =
    profile.fatalCodes.has(code ?? '') || (profile.fatalWithoutDelay.has(code ?? '') && retryAt === undefined);
  const remedy: Remedy = code === FORGOTTEN ? 'whole_context' : isFatal ? 'none' : 'retry';
  const text = code === null && message === '' ? 'response.failed event received' : `${code ?? 'no code'}: ${message}`;
  return new UpstreamError(text, { remedy, failure, ...(retryAt === undefined ? {} : { retryAt }) });
}

/** A wrapped error frame of a socket; null for one that is to be ignored, because it has no error status. */
export function classifyFrame(frame: unknown, context: FailureContext): UpstreamError | null {
  if (!isObject(frame)) return null;
  const failure = describeFailure(frame.error ?? frame);
  const status = [frame.status, frame.status_code].find((value) => typeof value === 'number');
  if (failure.code === SOCKET_TOO_OLD || failure.code === FORGOTTEN) {
    const remedy = failure.code === FORGOTTEN ? 'whole_context' : 'retry';
    return new UpstreamError(`${failure.code}: ${failure.message}`, { remedy, failure, status: status ?? null });
  }
  if (status === undefined || (status >= 200 && status < 300)) return null;
  return refused(status, classifyStatus(status, headersOf(frame), failure, context));
}

function classifyStatus(
  status: number,
  headers: UpstreamHeaders,
  failure: UpstreamFailure,
  context: FailureContext,
): UpstreamErrorOptions {
  const { code, message } = failure;
  const retryAt = readRetryAt({ headers, code, message }, context);
  const requestId = headers['x-request-id'];
  return {
    remedy: remedyOf(status, failure, retryAt),
    status,
    failure,
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  };
}

function remedyOf(status: number, { code, type }: UpstreamFailure, retryAt: number | undefined): Remedy {
  if (code === FORGOTTEN) return 'whole_context';
  if (status === 408 || status === 409) return 'retry';
  if (status === 429) return retryAt === undefined || [code, type].some(isExhausted) ? 'none' : 'retry';
  if (status < 500 || status === 501) return 'none';
  return code === OVERLOADED && retryAt === undefined ? 'none' : 'retry';
}

function isExhausted(name: string | null): boolean {
  return name !== null && EXHAUSTED.test(name);
}

function refused(status: number, options: UpstreamErrorOptions): UpstreamError {
  const { code, message } = options.failure ?? { code: null, message: '' };
  return new UpstreamError([`HTTP ${status}`, code, message].filter(Boolean).join(': '), options);
}

/** The headers in an error: names in lower case, as servers that relay HTTP errors write them. */
function headersOf(error: unknown): UpstreamHeaders {
  if (!isObject(error) || !isObject(error.headers)) return {};
  const texts = Object.entries(error.headers).filter(([, value]) => ['string', 'number'].includes(typeof value));
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
