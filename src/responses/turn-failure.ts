import { ApiError, type ResponseErrorBody } from '../protocol/index.js';
import { ModelError } from '../providers/index.js';
import { TurnStoppedError } from './stop-reason.js';

const STOP_MESSAGES = {
  disconnect: 'The client disconnected.',
  timeout: 'The model did not answer in time. Please retry your request.',
  drain: 'The server is shutting down. Please retry your request.',
} as const;

/** Whether an error was made to be seen by clients; anything else is ours to log and theirs to retry. */
export function isExpected(error: unknown): boolean {
  return error instanceof ApiError || error instanceof ModelError || error instanceof TurnStoppedError;
}

/** A failure after `response.created`, as `response.error` shows it (protocol §5). */
export function toResponseError(error: unknown, requestId: string): ResponseErrorBody {
  if (error instanceof ModelError) return { code: error.code, message: error.message };
  if (error instanceof ApiError) return { code: error.code ?? 'server_error', message: error.message };
  if (error instanceof TurnStoppedError) return { code: 'server_error', message: STOP_MESSAGES[error.reason] };
  return { code: 'server_error', message: unexpected(requestId) };
}

/** A failure before `response.created`, as an HTTP error or error frame (protocol §7). */
export function toRefusal(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ModelError) return fromModelError(error);
  if (error instanceof TurnStoppedError) {
    return ApiError.of('service_unavailable', STOP_MESSAGES[error.reason], { headers: { 'retry-after': '1' } });
  }
  return ApiError.of('server_error', unexpected(requestId), { cause: error });
}

function fromModelError(error: ModelError): ApiError {
  const { status = 500, type = typeOfStatus(status), param = null, retryAfterMs } = error.options;
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000));
  return new ApiError(status, type, error.code, param, error.message, headers, error);
}

function typeOfStatus(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'service_unavailable_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

function unexpected(requestId: string): string {
  return `The server had an error while processing your request. Please retry; if it persists, report request ${requestId}.`;
}
