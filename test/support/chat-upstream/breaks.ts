/** How an upstream says in the middle of a stream that something went wrong. */
export const ERROR_FRAMES = {
  /** `code` is an HTTP status. */
  numberCode: [
    'data: {"error":{"message":"The engine fell over.","type":"InternalServerError","param":null,"code":500}}',
  ],
  stringCode: ['data: {"error":{"message":"The engine fell over.","type":"server_error","code":"engine_dead"}}'],
  plainString: ['data: {"error":"The engine fell over."}'],
  errorEvent: ['event: error', 'data: {"error":{"message":"The engine fell over.","type":"server_error","code":500}}'],
  /** The error itself is the data of an event named so. */
  bareErrorEvent: ['event: error', 'data: {"message":"The engine fell over.","code":500}'],
  /** A field of the stream that SSE does not know. */
  errorField: ['error: {"code":500,"message":"The engine fell over.","type":"server_error"}'],
  /** `object: error`, without an `error` member. */
  errorObject: ['data: {"object":"error","message":"The engine fell over.","type":"InternalServerError","code":500}'],
  /** A chunk like any other, with an error beside its choices. */
  errorBesideChoices: [
    'data: {"id":"gen-1","object":"chat.completion.chunk","created":1767225600,"model":"m","provider":"P",' +
      '"error":{"code":502,"message":"The engine fell over."},' +
      '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"error"}]}',
  ],
  /** The error in the choice. */
  errorInChoice: [
    'data: {"id":"gen-1","choices":[{"index":0,"delta":{},"finish_reason":null,' +
      '"error":{"code":502,"message":"The engine fell over."}}]}',
  ],
  errorMessage: ['data: {"error":{},"error_message":"The engine fell over.","choices":[]}'],
  errorTypeAndMessage: ['data: {"error_type":"overloaded","error_message":"The engine fell over."}'],
  codeAndMessage: ['data: {"code":"InternalError","message":"The engine fell over.","request_id":"1"}'],
  statusAndMessage: ['data: {"status":500,"message":"The engine fell over."}'],
  typeError: ['data: {"type":"error","message":"The engine fell over."}'],
  detail: ['data: {"detail":"The engine fell over."}'],
  errorsList: ['data: {"success":false,"errors":[{"message":"The engine fell over."}]}'],
  baseResp: ['data: {"id":"1","choices":null,"base_resp":{"status_code":1013,"status_msg":"The engine fell over."}}'],
  rateLimitWithDelay: [
    'data: {"error":{"message":"Slow down. Please try again in 1m3.5s.","type":"rate_limit_error","code":429}}',
  ],
  rateLimit: ['data: {"error":{"message":"Slow down.","type":"rate_limit_error","code":429}}'],
  contextLength: [
    'data: {"error":{"message":"The prompt is too long.","type":"invalid_request_error","code":"context_length_exceeded"}}',
  ],
  invalidImage: [
    'data: {"error":{"message":"No image format fits.","type":"invalid_request_error","code":"invalid_image_format"}}',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A form of error in the middle of a stream. */
export type ErrorFrame = keyof typeof ERROR_FRAMES;

/** What stands in the data of an event where a chunk is expected. */
export const NONSENSE_DATA = {
  invalidJson: '{"choices":[{"index":0,"delta":{"content":"half',
  text: 'Service temporarily unavailable',
  heartbeat: ': keep-alive',
  bracketedWord: '[PING]',
  number: '42',
  null: 'null',
  list: '[]',
  emptyObject: '{}',
  choicesOfAnotherKind: '{"choices":"none"}',
  choiceThatIsNull: '{"choices":[null]}',
  deltaThatIsNull: '{"choices":[{"index":0,"delta":null,"finish_reason":null}]}',
  callsThatAreText: '{"choices":[{"index":0,"delta":{"tool_calls":"none"},"finish_reason":null}]}',
  callThatIsNull: '{"choices":[{"index":0,"delta":{"tool_calls":[null]},"finish_reason":null}]}',
  usageThatIsText: '{"choices":[],"usage":"many"}',
} as const satisfies Readonly<Record<string, string>>;

/** A form of nonsense in the data of an event. */
export type Nonsense = keyof typeof NONSENSE_DATA;

/** Where a stream breaks off, and how; a whole answer breaks off in its middle. */
export interface Break {
  /** Events before it; 0 breaks before the first. */
  readonly after: number;
  /**
   * `end` ends the body in order, `cut` closes the connection within the body, `reset` resets it, which may take back what was
   * not read yet (over HTTP/2 both reset the stream), `stall` says nothing more and keeps the connection open; an error or
   * nonsense is written and then followed by the rest of the stream (`goesOn`) or by its end.
   */
  readonly by: 'end' | 'cut' | 'reset' | 'stall' | { readonly error: ErrorFrame } | { readonly nonsense: Nonsense };
  /** What was to come still comes behind an error or nonsense. */
  readonly goesOn?: boolean;
}
