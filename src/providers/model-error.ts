/**
 * Where another attempt may help, before anything was said: at the `same` upstream, only at an `other` one, or `nowhere`,
 * because the request itself is at fault.
 */
export type RetryHint = 'same' | 'other' | 'nowhere';

/** How a ModelError is to be understood. */
export interface ModelErrorOptions {
  /** HTTP status of the answer when the failure comes before `response.created`; 502 and 5xx mean "try again". */
  readonly status?: number;
  /** `error.type` of that answer; derived from the status when absent. */
  readonly type?: string;
  /** The parameter at fault, if the client can mend it. */
  readonly param?: string | null;
  /** How long the client should wait before it tries again, ms. */
  readonly retryAfterMs?: number;
  /** How long an upstream itself asked to be left alone, ms, where that is not what the client is told. */
  readonly upstreamWaitMs?: number;
  /** Where another attempt may help; derived from the status when absent. */
  readonly retry?: RetryHint;
  /** The real reason, for our log only. */
  readonly cause?: unknown;
}

/**
 * A failure the provider wants the client to see, in words fit for it: no keys, no internal addresses. Anything else a
 * provider throws reaches the client as a bare `server_error`.
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

  /** The failure of an answer that stops without a `finish`. */
  static endedEarly(): ModelError {
    return new ModelError('server_error', 'The model ended its answer early. Please retry your request.');
  }

  /** Where another attempt may help. */
  get retry(): RetryHint {
    const { retry, status = 500 } = this.options;
    if (retry !== undefined) return retry;
    if (status === 408 || status >= 500) return 'same';
    return status === 429 ? 'other' : 'nowhere';
  }
}
