import type { UpstreamFailure } from '../upstream-errors/error-body.js';

/** What may follow a failed request to an upstream. */
export type Remedy =
  /** Nothing: the request or the account is at fault. */
  | 'none'
  /** The same request again, after a pause. */
  | 'retry'
  /** The same request over HTTP, at once: the server takes no WebSockets (426). */
  | 'http'
  /** The whole context instead of a continuation, at once: the upstream has forgotten the parent. */
  | 'whole_context';

/** Details of an UpstreamError. */
export interface UpstreamErrorOptions {
  readonly remedy: Remedy;
  /** HTTP status of an answer, of a refused handshake, or stated in an error frame; null for broken connections. */
  readonly status?: number | null;
  /** The error that the upstream reported. */
  readonly failure?: UpstreamFailure;
  /** Until when the upstream asks to wait, milliseconds since the epoch; measured when the error was read. */
  readonly retryAt?: number;
  /** Until when to wait, as the client is told, milliseconds since the epoch; also for profiles that do not retry by `retryAt`. */
  readonly statedAt?: number;
  /**
   * Whether only the HTTP request failed, before its answer: retried as `request_max_retries` says, then as a failed stream is.
   */
  readonly isRequestLevel?: boolean;
  /** Whether no connection could be established. */
  readonly isUnreachable?: boolean;
  /** `x-request-id` of the upstream, for the log. */
  readonly requestId?: string;
  readonly cause?: unknown;
}

/** A request to an upstream failed. Its message is for the log, and may quote the upstream. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';

  constructor(
    message: string,
    readonly options: UpstreamErrorOptions,
  ) {
    super(message, { cause: options.cause });
  }

  /** The code of a failure that does not reach the client, for metrics. */
  get code(): string {
    const { failure, isUnreachable = false } = this.options;
    return isUnreachable ? 'model_unavailable' : (failure?.code ?? 'server_error');
  }

  get remedy(): Remedy {
    return this.options.remedy;
  }
}

/** The failure of an answer in a form that is not understood. `what` names the form, in words of this service; `reason` is for the log. */
export function notUnderstood(
  what: string,
  reason = `the upstream answered with ${what}, which is not understood`,
): UpstreamError {
  return new UpstreamError(reason, {
    remedy: 'none',
    status: 502,
    failure: {
      code: 'server_error',
      type: null,
      param: null,
      status: 502,
      message: `The model's server answered in a form that is not understood: ${what}.`,
    },
  });
}
