import { ApiError } from '../protocol/index.js';

/**
 * Where to retry before the first output: at the `same` upstream, only at an `other` one, or `nowhere`, because the request
 * itself is invalid.
 */
export type RetryHint = 'same' | 'other' | 'nowhere';

/** Details of a ModelError. */
export interface ModelErrorOptions {
  /** HTTP status if the error occurs before `response.created`. Clients retry on 5xx. */
  readonly status?: number;
  /** `error.type` of the HTTP error; derived from the status when absent. */
  readonly type?: string;
  /** The invalid parameter. */
  readonly param?: string | null;
  /** Delay before the client should retry, ms. */
  readonly retryAfterMs?: number;
  /** Delay that the upstream requested, ms, if it differs from `retryAfterMs`. */
  readonly upstreamWaitMs?: number;
  /** Where to retry; derived from the status when absent. */
  readonly retry?: RetryHint;
  /** Tells the official SDKs, with `x-should-retry`, whether to retry. Absent: they go by the status. */
  readonly shouldRetry?: boolean;
  /** The original error, for the log only. */
  readonly cause?: unknown;
}

/**
 * An error whose message reaches the client; it must not contain keys or internal addresses. Any other error of a provider
 * reaches the client as a generic `server_error`.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';

  /** `code` becomes `response.error.code` (protocol §5) or `error.code` (protocol §7). */
  constructor(
    readonly code: string,
    message: string,
    readonly options: ModelErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
  }

  /** The error for an answer that ends without a `finish`. */
  static endedEarly(): ModelError {
    return new ModelError('server_error', 'The model ended its answer early. Please retry your request.');
  }

  /** Where to retry. */
  get retry(): RetryHint {
    const { retry, status = 500 } = this.options;
    if (retry !== undefined) return retry;
    if (status === 408 || status >= 500) return 'same';
    return status === 429 ? 'other' : 'nowhere';
  }

  /** `retryAfterMs` in whole seconds, as the header `retry-after` has it; undefined without a delay. */
  get retryAfter(): string | undefined {
    const { retryAfterMs = NaN } = this.options;
    return retryAfterMs >= 0 && Number.isFinite(retryAfterMs) ? String(Math.ceil(retryAfterMs / 1000)) : undefined;
  }

  /** The refusal of a request. Uses the status only if it is an error status: SDKs ignore errors in other answers. */
  toApiError(): ApiError {
    const { status: given = 500, type, param = null, shouldRetry } = this.options;
    const status = Number.isInteger(given) && given >= 400 && given <= 599 ? given : 500;
    const { retryAfter } = this;
    const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    if (shouldRetry !== undefined) headers['x-should-retry'] = String(shouldRetry);
    return new ApiError(status, type ?? typeOf(status), this.code, param, this.message, headers, this);
  }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'service_unavailable_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/**
 * A provider throws this to close the client's connection in the middle of the answer, without an error event. The response is
 * not saved, as after a disconnect by the client.
 */
export class BreakConnectionError extends Error {
  override readonly name = 'BreakConnectionError';

  constructor() {
    super("the provider broke the client's connection");
  }
}
