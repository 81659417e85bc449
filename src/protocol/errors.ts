/** The body of every failed HTTP request (protocol §7). */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

/** What a 404 without a code says is missing. */
export type MissingKind =
  | 'Response'
  | 'Completion'
  | 'Conversation'
  | 'Item'
  | 'Session'
  | 'Connection'
  | 'Prompt'
  | 'File'
  | 'Upload'
  | 'Vector store'
  | 'File batch'
  | 'Turn of the response';

/**
 * Every error code this service gives, with its HTTP status and `error.type`. `npm run docs` copies the comments to
 * docs/errors.md.
 */
export const ERROR_CODES = {
  /** A list has too many elements. */
  array_above_max_length: { status: 400, type: 'invalid_request_error' },
  /** The context is longer than the model's window, or than CONTEXT_MAX_BYTES. */
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  /** Another turn runs in the conversation. Sent with `retry-after`, and `x-should-retry: true`, because SDKs do not retry a 400 otherwise. */
  conversation_locked: { status: 400, type: 'invalid_request_error' },
  /** The tenant has reached FILES_MAX_COUNT or FILES_MAX_BYTES, or files in memory have reached MEMORY_MAX_BYTES. Nothing is stored. */
  file_quota_exceeded: { status: 400, type: 'invalid_request_error' },
  /** The state keeps no files, and VECTOR_STORE_URL names no database for them. */
  files_not_configured: { status: 400, type: 'invalid_request_error' },
  /** The vector store has expired: it can only be read and deleted. */
  vector_store_expired: { status: 400, type: 'invalid_request_error' },
  /** The tenant has reached VECTOR_STORES_MAX_COUNT. */
  vector_store_quota_exceeded: { status: 400, type: 'invalid_request_error' },
  /** No provider has the model EMBEDDING_MODEL, which vector stores need. */
  vector_stores_not_configured: { status: 400, type: 'invalid_request_error' },
  /** A number is too large. */
  decimal_above_max_value: { status: 400, type: 'invalid_request_error' },
  /** A number is too small. */
  decimal_below_min_value: { status: 400, type: 'invalid_request_error' },
  /** A list must not be empty. */
  empty_array: { status: 400, type: 'invalid_request_error' },
  /** An integer is too large. */
  integer_above_max_value: { status: 400, type: 'invalid_request_error' },
  /** An integer is too small. */
  integer_below_min_value: { status: 400, type: 'invalid_request_error' },
  /** The parameters of a function with `strict: true` are outside the subset of Structured Outputs. */
  invalid_function_parameters: { status: 400, type: 'invalid_request_error' },
  /** A compaction item was altered, or sealed by another service, for another tenant or with a key that SEAL_KEYS no longer has. */
  invalid_encrypted_content: { status: 400, type: 'invalid_request_error' },
  /** An id does not begin with the prefix of its kind, such as `resp`. */
  invalid_id_prefix: { status: 400, type: 'invalid_request_error' },
  /** The body or the frame is not valid JSON. */
  invalid_json: { status: 400, type: 'invalid_request_error' },
  /** A JSON Schema in the request cannot be used, or has `strict: true` and is outside the subset of Structured Outputs. */
  invalid_json_schema: { status: 400, type: 'invalid_request_error' },
  /** `GET /responses/{id}` was asked for a stream; only responses created with `background` and `stream` have one, until EVENT_LOG_TTL after their end. */
  invalid_mode: { status: 400, type: 'invalid_request_error' },
  /** The request has a header `expect` other than `100-continue`. */
  expectation_failed: { status: 417, type: 'invalid_request_error' },
  /** Answer to `response.steer`: its input is neither a text nor messages of the user, or it has a member that it must not have. */
  invalid_input: { status: 400, type: 'invalid_request_error' },
  /** Answer to `response.steer` and `response.interrupt`: no such response runs on this connection. */
  response_not_found: { status: 400, type: 'invalid_request_error' },
  /** Answer to `response.steer` and `response.interrupt`: the response has ended. */
  response_already_completed: { status: 400, type: 'invalid_request_error' },
  /** Answer to `response.steer` and `response.interrupt`: the response has failed, or it is being interrupted. */
  response_not_active: { status: 400, type: 'invalid_request_error' },
  /** Answer to `response.steer`: eight inputs wait for the response, or those of the connection exceed what may be queued. */
  too_many_pending_steers: { status: 400, type: 'invalid_request_error' },
  /** Of an accepted `response.steer`: the response that should take up its input could not be created. */
  successor_creation_failed: { status: 400, type: 'invalid_request_error' },
  /** Sockets only: `stream_id` is not 1 to 256 of `[A-Za-z0-9_.-]`. */
  invalid_stream_id: { status: 400, type: 'invalid_request_error' },
  /** A value has the wrong type. */
  invalid_type: { status: 400, type: 'invalid_request_error' },
  /** A value is not one of those allowed, or is malformed. */
  invalid_value: { status: 400, type: 'invalid_request_error' },
  /** A required field is missing. */
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  /** Two fields exclude each other. */
  mutually_exclusive_parameters: { status: 400, type: 'invalid_request_error' },
  /** An object has too many properties. */
  object_above_max_properties: { status: 400, type: 'invalid_request_error' },
  /** A tree of responses exceeds the limit of 10,000. */
  graph_too_large: { status: 400, type: 'invalid_request_error' },
  /** `previous_response_id` names no response that can be continued: it is unknown, has not ended, has failed or was cancelled. */
  previous_response_not_found: { status: 400, type: 'invalid_request_error' },
  /** The named session is full: SESSION_MAX_RESPONSES. Or as many sessions share its responses as may: SESSION_MAX_FORKS. */
  session_limit_reached: { status: 400, type: 'invalid_request_error' },
  /** Answer to `response.steer`: the model of the response cannot be steered, or it belongs to a conversation, or is compacted. */
  steering_not_supported: { status: 400, type: 'invalid_request_error' },
  /** A text is too long. */
  string_above_max_length: { status: 400, type: 'invalid_request_error' },
  /** A text is too short. */
  string_below_min_length: { status: 400, type: 'invalid_request_error' },
  /** Sockets only: the frame has an unknown `type`. */
  unknown_event_type: { status: 400, type: 'invalid_request_error' },
  /** A field is misspelt or belongs to Chat Completions; with UNKNOWN_PARAMETERS=reject any unknown field. */
  unknown_parameter: { status: 400, type: 'invalid_request_error' },
  /** The field is known but not implemented, or has another name in this API. */
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  /** The value is valid, but the model does not support it. */
  unsupported_value: { status: 400, type: 'invalid_request_error' },
  /**
   * Sockets only: the connection has reached WS_MAX_LIFETIME_MS. With status 429: too many connections, closed with
   * 1013.
   */
  websocket_connection_limit_reached: { status: 400, type: 'invalid_request_error' },
  /** Sockets only: more than 32 named lanes on one connection. */
  websocket_stream_limit_reached: { status: 400, type: 'invalid_request_error' },
  /** The API key is wrong. Without any key the code is null. */
  invalid_api_key: { status: 401, type: 'invalid_request_error' },
  /** The API key or token does not permit this kind of request (docs/access.md). */
  missing_scope: { status: 403, type: 'invalid_request_error' },
  /** The API key or token may not use this model (docs/access.md). */
  model_not_allowed: { status: 403, type: 'invalid_request_error' },
  /** Open services only: the `Host` header does not name this machine. */
  forbidden_host: { status: 403, type: 'invalid_request_error' },
  /** Open services only: the web page belongs to another origin. */
  forbidden_origin: { status: 403, type: 'invalid_request_error' },
  /** No provider serves the model. Status 400 for an empty name. */
  model_not_found: { status: 404, type: 'invalid_request_error' },
  /** There is no such route. */
  unknown_url: { status: 404, type: 'invalid_request_error' },
  /** The route does not support the method; `Allow` lists those it supports. */
  method_not_supported: { status: 405, type: 'invalid_request_error' },
  /** The client took longer than REQUEST_TIMEOUT_MS to send the request. */
  request_timeout: { status: 408, type: 'invalid_request_error' },
  /** Sockets only: the default lane is busy, and WS_OVERLAP=reject. */
  concurrent_request: { status: 409, type: 'invalid_request_error' },
  /** The tools of an MCP server could not be listed. */
  http_error: { status: 424, type: 'external_connector_error' },
  /** The target of a fork already has responses. */
  session_exists: { status: 409, type: 'invalid_request_error' },
  /** Another turn held the session longer than SESSION_LOCK_TIMEOUT_MS. Sent with `retry-after`. */
  session_locked: { status: 409, type: 'invalid_request_error' },
  /** The body is larger than BODY_LIMIT_BYTES, or has more than BODY_MAX_VALUES values or BODY_MAX_NAMES names. */
  request_too_large: { status: 413, type: 'invalid_request_error' },
  /** The body is not `application/json`. */
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  /** The body is compressed in an unsupported way. */
  unsupported_content_encoding: { status: 415, type: 'invalid_request_error' },
  /** An upgrade while WS_ENABLED=false. */
  websocket_not_supported: { status: 426, type: 'invalid_request_error' },
  /** The request headers are too large. */
  request_header_too_large: { status: 431, type: 'invalid_request_error' },
  /** A quota of the tenant is used up (docs/limits.md), or the provider limits its rate. Sent with `retry-after` where waiting helps. */
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  /**
   * Sockets only: WS_QUEUE_MAX_TURNS, WS_QUEUE_MAX_BYTES or WS_QUEUE_TOTAL_BYTES is reached. Sent with `retry-after`.
   */
  too_many_queued_requests: { status: 429, type: 'rate_limit_error' },
  /** BACKGROUND_MAX_QUEUED or BACKGROUND_MAX_QUEUED_PER_TENANT is reached. Sent with `retry-after`. */
  background_queue_full: { status: 429, type: 'rate_limit_error' },
  /** `response.error` only: a background response has waited in the queue for longer than BACKGROUND_MAX_WAIT. */
  background_wait_exceeded: { status: 503, type: 'service_unavailable_error' },
  /** Sockets only: an internal error; the log has the cause under the request id. */
  processing_error: { status: 500, type: 'server_error' },
  /** An internal error, or a provider that failed; the log has the cause under the request id. */
  server_error: { status: 500, type: 'server_error' },
  /**
   * MAX_RUNNING_TURNS, BODY_TOTAL_BYTES, FILE_INPUT_TOTAL_BYTES or the limit of connections is reached, too many documents wait to be
   * read, or the provider is overloaded. Sent with `retry-after`.
   */
  server_is_overloaded: { status: 503, type: 'service_unavailable_error' },
  /**
   * The server of the model cannot be reached, or breaks off its answer each time it is asked (JSON with `store: false`), or whether the
   * model exists is not known yet, because a provider has not listed its models. Sent with `retry-after`.
   */
  model_unavailable: { status: 503, type: 'service_unavailable_error' },
  /**
   * The database is unavailable, the instance shuts down, or the model said nothing within MODEL_IDLE_TIMEOUT_MS. Sent with
   * `retry-after`.
   */
  service_unavailable: { status: 503, type: 'service_unavailable_error' },
  /** The turn took longer than MAX_TURN_MS. Once the response has started, `response.error` has this code. */
  turn_time_limit_exceeded: { status: 504, type: 'server_error' },
} as const satisfies Record<string, { status: number; type: string }>;

/** A code of ERROR_CODES. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Whether a code is one of ERROR_CODES; upstreams have others. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** What a client reads whose input is longer than the window of its model, whether this service or the model has found it. */
export const CONTEXT_TOO_LONG =
  'Your input exceeds the context window of this model. Please adjust your input and try again.';

/** What an ApiError says beyond its code and message. */
export interface ApiErrorOptions {
  /** The parameter at fault as a path, `input[0].content`; null when no single one is. */
  readonly param?: string | null;
  /** Headers for the HTTP answer, such as `retry-after` (seconds). */
  readonly headers?: Readonly<Record<string, string>>;
  /** What really happened; for our log only. */
  readonly cause?: unknown;
}

/** Messages quote what the client sent, which may be of any length. */
const MAX_MESSAGE_LENGTH = 1000;

/** A refusal the client is meant to read. Thrown anywhere; each transport gives it its own form (protocol §7). */
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

  /** What passes by itself: a 503 that tells clients to try again in a second. */
  static retryLater(message: string, cause?: unknown): ApiError {
    return ApiError.of('service_unavailable', message, { headers: { 'retry-after': '1' }, cause });
  }

  /** What clients cannot mend and must not see: nothing but the id under which our log has it. */
  static unexpected(requestId: string, cause: unknown): ApiError {
    const message = `The server had an error while processing your request. Please retry; if it persists, report request ${requestId}.`;
    return ApiError.of('server_error', message, { cause });
  }

  /** A 400 without a code, as protocol §3.1 has it for items that do not fit together. */
  static badRequest(message: string, param: string | null): ApiError {
    return new ApiError(400, 'invalid_request_error', null, param, message);
  }

  /** A 404 without a code: what is missing and what is another tenant's look the same (protocol §7). */
  static notFound(kind: MissingKind, id: string): ApiError {
    return new ApiError(404, 'invalid_request_error', null, null, `${kind} with id '${id}' not found.`);
  }

  toBody(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}
