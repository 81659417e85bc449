/** The body of every failed HTTP request (protocol §7). */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

/** Every error code of this service, with its HTTP status and `error.type`. The README's error table lists the same. */
export const ERROR_CODES = {
  array_above_max_length: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  decimal_above_max_value: { status: 400, type: 'invalid_request_error' },
  decimal_below_min_value: { status: 400, type: 'invalid_request_error' },
  empty_array: { status: 400, type: 'invalid_request_error' },
  integer_above_max_value: { status: 400, type: 'invalid_request_error' },
  integer_below_min_value: { status: 400, type: 'invalid_request_error' },
  invalid_id_prefix: { status: 400, type: 'invalid_request_error' },
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_json_schema: { status: 400, type: 'invalid_request_error' },
  invalid_mode: { status: 400, type: 'invalid_request_error' },
  invalid_stream_id: { status: 400, type: 'invalid_request_error' },
  invalid_type: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  mutually_exclusive_parameters: { status: 400, type: 'invalid_request_error' },
  object_above_max_properties: { status: 400, type: 'invalid_request_error' },
  graph_too_large: { status: 400, type: 'invalid_request_error' },
  previous_response_not_found: { status: 400, type: 'invalid_request_error' },
  session_limit_reached: { status: 400, type: 'invalid_request_error' },
  steering_not_supported: { status: 400, type: 'invalid_request_error' },
  string_above_max_length: { status: 400, type: 'invalid_request_error' },
  string_below_min_length: { status: 400, type: 'invalid_request_error' },
  unknown_event_type: { status: 400, type: 'invalid_request_error' },
  unknown_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_value: { status: 400, type: 'invalid_request_error' },
  websocket_connection_limit_reached: { status: 400, type: 'invalid_request_error' },
  websocket_stream_limit_reached: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'invalid_request_error' },
  forbidden_host: { status: 403, type: 'invalid_request_error' },
  forbidden_origin: { status: 403, type: 'invalid_request_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  unknown_url: { status: 404, type: 'invalid_request_error' },
  method_not_supported: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  concurrent_request: { status: 409, type: 'invalid_request_error' },
  session_exists: { status: 409, type: 'invalid_request_error' },
  session_locked: { status: 409, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  unsupported_content_encoding: { status: 415, type: 'invalid_request_error' },
  websocket_not_supported: { status: 426, type: 'invalid_request_error' },
  request_header_too_large: { status: 431, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  too_many_queued_requests: { status: 429, type: 'rate_limit_error' },
  processing_error: { status: 500, type: 'server_error' },
  server_error: { status: 500, type: 'server_error' },
  server_is_overloaded: { status: 503, type: 'service_unavailable_error' },
  service_unavailable: { status: 503, type: 'service_unavailable_error' },
} as const satisfies Record<string, { status: number; type: string }>;

/** A code of ERROR_CODES. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The message for input beyond the context window of its model, whether this service or the model detects it. */
export const CONTEXT_TOO_LONG =
  'Your input exceeds the context window of this model. Please adjust your input and try again.';

/** Options of an ApiError. */
export interface ApiErrorOptions {
  /** The path of the invalid parameter, `input[0].content`; null when the error is not about a single one. */
  readonly param?: string | null;
  /** Headers for the HTTP answer, such as `retry-after` (seconds). */
  readonly headers?: Readonly<Record<string, string>>;
  /** The underlying error; for the log only. */
  readonly cause?: unknown;
}

/** Messages quote client input, which may have any length. */
const MAX_MESSAGE_LENGTH = 1000;

/** An error that is safe to show to clients. May be thrown anywhere; each transport formats it (protocol §7). */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    readonly type: string,
    readonly code: string | null,
    readonly param: string | null,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    super(message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH)}…`, { cause });
  }

  /** The error of a known code: status and type come from ERROR_CODES. */
  static of(code: ErrorCode, message: string, options: ApiErrorOptions = {}): ApiError {
    const { status, type } = ERROR_CODES[code];
    return new ApiError(status, type, code, options.param ?? null, message, options.headers, options.cause);
  }

  /** A temporary failure: 503 with `retry-after: 1`. */
  static retryLater(message: string, cause?: unknown): ApiError {
    return ApiError.of('service_unavailable', message, { headers: { 'retry-after': '1' }, cause });
  }

  /** An internal error: the message contains only the request id, under which the cause is logged. */
  static unexpected(requestId: string, cause: unknown): ApiError {
    const message = `The server had an error while processing your request. Please retry; if it persists, report request ${requestId}.`;
    return ApiError.of('server_error', message, { cause });
  }

  /** A 400 without a code, as in protocol §3.1 for items that do not fit together. */
  static badRequest(message: string, param: string | null): ApiError {
    return new ApiError(400, 'invalid_request_error', null, param, message);
  }

  /** A 404 without a code; resources of other tenants return the same (protocol §7). */
  static notFound(kind: 'Response' | 'Item' | 'Session' | 'Connection', id: string): ApiError {
    return new ApiError(404, 'invalid_request_error', null, null, `${kind} with id '${id}' not found.`);
  }

  toBody(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}
