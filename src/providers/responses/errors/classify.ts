import { describeFailure, readFailure, type UpstreamFailure } from '../../upstream-errors/error-body.js';
import { isQuotaCode } from '../../upstream-errors/to-model-error.js';
import { isObject } from '../../../validation/index.js';
import type { AnswerRefusedError, UpstreamHeaders } from '../transport/exchange.js';
import { type Remedy, UpstreamError, type UpstreamErrorOptions } from '../upstream-error.js';
import { type Delays, type ReadingContext, readDelays } from './delays.js';

/** The upstream does not know the response that the request continues. */
const FORGOTTEN = 'previous_response_not_found';

/** The socket is too old: a new one takes the same request. */
const SOCKET_TOO_OLD = 'websocket_connection_limit_reached';

/** Further types and codes of a 429 that waiting does not help, besides those of quotas. */
const UNAVAILABLE: ReadonlySet<string | null> = new Set([
  'usage_limit_reached',
  'usage_not_included',
  'flex_unavailable',
]);

/** Statuses that refuse a handshake and would refuse an HTTP request too. */
const REFUSED_ANYWAY = new Set([401, 403, 429]);

const OVERLOADED = 'server_is_overloaded';

/**
 * The failure of an HTTP request, by its status. Statuses that say that the request, the model or the credentials are at fault are
 * not retried.
 */
export function classifyHttp({ status, headers, text }: AnswerRefusedError, context: ReadingContext): UpstreamError {
  const options = classifyStatus(status, headers, readFailure(text), context);
  return refused(status, { ...options, isRequestLevel: status >= 500 });
}

/**
 * The failure of a WebSocket handshake. It says nothing of the request, only of the way to the server, such as a proxy that knows no
 * WebSockets: it is retried, and then sent over HTTP; at once if the server says so (426).
 */
export function classifyHandshake(
  { status, headers, text }: AnswerRefusedError,
  context: ReadingContext,
): UpstreamError {
  const options = classifyStatus(status, headers, readFailure(text), context);
  if (REFUSED_ANYWAY.has(status)) return refused(status, options);
  return refused(status, { ...options, remedy: status === 426 ? 'http' : 'retry' });
}

/** `error` of `response.failed` (upstreams §6). */
export function classifyFailed(error: unknown, context: ReadingContext): UpstreamError {
  const { profile } = context;
  const failure = describeFailure(error);
  const { code, message, retryDelay } = failure;
  const headers = headersOf(error);
  const delays = readDelays({ headers, code, message, retryDelay }, context);
  const isFatal =
    profile.fatalCodes.has(code ?? '') || (profile.fatalWithoutDelay.has(code ?? '') && delays.retryAt === undefined);
  const remedy: Remedy = code === FORGOTTEN ? 'whole_context' : isFatal ? 'none' : 'retry';
  const text = code === null && message === '' ? 'response.failed event received' : `${code ?? 'no code'}: ${message}`;
  return new UpstreamError(text, { remedy, failure, ...delays });
}

/** A wrapped error frame of a socket; null for one that is to be ignored, because it has no error status. */
export function classifyFrame(frame: unknown, context: ReadingContext): UpstreamError | null {
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
  context: ReadingContext,
): UpstreamErrorOptions {
  const { code, message, retryDelay } = failure;
  const delays = readDelays({ headers, code, message, retryDelay }, context);
  const requestId = headers['x-request-id'];
  return {
    remedy: remedyOf(status, failure, delays),
    status,
    failure,
    ...delays,
    ...(typeof requestId === 'string' ? { requestId } : {}),
  };
}

function remedyOf(status: number, { code, type }: UpstreamFailure, { retryAt }: Delays): Remedy {
  if (code === FORGOTTEN) return 'whole_context';
  if (status === 408 || status === 409) return 'retry';
  if (status === 429) return retryAt === undefined || [code, type].some(isExhausted) ? 'none' : 'retry';
  if (status < 500 || status === 501) return 'none';
  return code === OVERLOADED && retryAt === undefined ? 'none' : 'retry';
}

function isExhausted(name: string | null): boolean {
  return isQuotaCode(name) || UNAVAILABLE.has(name);
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
