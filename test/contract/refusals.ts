import { type APIError, BadRequestError, InternalServerError, NotFoundError, RateLimitError } from 'openai';

import { ModelError } from '../../src/index.js';

const RESPONSE_ID = 'resp_0123456789abcdef0123456789abcdef';

/** The least a request needs; the model is the only one that is served. */
export const MINIMAL = { model: 'only', input: 'Hi' };

/** What becomes of a request that is refused. */
export interface Expected {
  readonly error: new (...args: never[]) => APIError;
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string | RegExp;
  readonly type?: string;
}

const bad = (code: string | null, param: string | null, message: string | RegExp): Expected => {
  return { error: BadRequestError, status: 400, code, param, message };
};

/** Requests that are refused before the model is asked. */
export const REFUSED: readonly (readonly [what: string, body: object, expected: Expected])[] = [
  ['no model', { input: 'Hi' }, bad('missing_required_parameter', 'model', "Missing required parameter: 'model'.")],
  ['null as model', { model: null, input: 'Hi' }, bad('invalid_type', 'model', /^Invalid type for 'model'/)],
  ['an empty model', { model: '', input: 'Hi' }, bad('model_not_found', 'model', /does not exist/)],
  ['no input', { model: 'only' }, bad('missing_required_parameter', 'input', "Missing required parameter: 'input'.")],
  ['empty input', { model: 'only', input: '' }, bad('missing_required_parameter', null, /^One of "input"/)],
  [
    'an unknown field',
    { ...MINIMAL, temprature: 1 },
    bad('unknown_parameter', 'temprature', /Did you mean 'temperature'\?/),
  ],
  [
    'a field of sockets',
    { ...MINIMAL, stream_id: 'a' },
    bad('unknown_parameter', 'stream_id', /^Unknown parameter: 'stream_id'/),
  ],
  ['a wrong type', { ...MINIMAL, store: 'yes' }, bad('invalid_type', 'store', /expected a boolean, but got a string/)],
  [
    'too few tokens',
    { ...MINIMAL, max_output_tokens: 15 },
    bad('integer_below_min_value', 'max_output_tokens', />= 16/),
  ],
  ['no tool calls', { ...MINIMAL, max_tool_calls: 0 }, bad('integer_below_min_value', 'max_tool_calls', />= 1/)],
  ['too much heat', { ...MINIMAL, temperature: 2.1 }, bad('decimal_above_max_value', 'temperature', /2/)],
  [
    'an unknown choice',
    { ...MINIMAL, tool_choice: 'maybe' },
    bad('invalid_value', 'tool_choice', /'none', 'auto', and 'required'/),
  ],
  [
    'an unknown role',
    { model: 'only', input: [{ role: 'king', content: 'Hi' }] },
    bad('invalid_value', 'input[0]', /Supported values are: 'assistant', 'system', 'developer', and 'user'/),
  ],
  [
    'an unknown part',
    { model: 'only', input: [{ role: 'user', content: [{ type: 'smell' }] }] },
    bad('invalid_value', /^input\[0\]\.content\[0\]/ as never, /Supported values/),
  ],
  [
    'a feature that is not built',
    { ...MINIMAL, moderation: { model: 'omni' } },
    bad('unsupported_parameter', 'moderation', /not supported by this server/),
  ],
  [
    'a conversation and a parent',
    { ...MINIMAL, conversation: 'conv_1', previous_response_id: RESPONSE_ID },
    bad('mutually_exclusive_parameters', null, /'previous_response_id'.*'conversation'/),
  ],
  [
    'an unknown parent',
    { ...MINIMAL, previous_response_id: RESPONSE_ID },
    bad('previous_response_not_found', 'previous_response_id', `Previous response with id '${RESPONSE_ID}' not found.`),
  ],
  [
    'an id of another kind',
    { ...MINIMAL, previous_response_id: 'msg_1' },
    bad('invalid_id_prefix', 'previous_response_id', /begins with 'resp'/),
  ],
  [
    'a model nobody serves',
    { model: 'other', input: 'Hi' },
    {
      error: NotFoundError,
      status: 404,
      code: 'model_not_found',
      param: 'model',
      message: /^The model 'other' does not exist/,
    },
  ],
];

/** What a model may throw before it yields, and what the client gets. */
export const THROWN: readonly (readonly [what: string, thrown: () => Error, expected: Expected])[] = [
  [
    'a rate limit',
    () => new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429, retryAfterMs: 1500 }),
    {
      error: RateLimitError,
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      param: null,
      message: 'Slow down.',
    },
  ],
  [
    'a context that is too long',
    () => new ModelError('context_length_exceeded', 'Too long.', { status: 400, param: 'input' }),
    bad('context_length_exceeded', 'input', 'Too long.'),
  ],
  [
    'an overload',
    () => new ModelError('server_is_overloaded', 'Try later.', { status: 503 }),
    {
      error: InternalServerError,
      status: 503,
      type: 'service_unavailable_error',
      code: 'server_is_overloaded',
      param: null,
      message: 'Try later.',
    },
  ],
  [
    'a bare ModelError',
    () => new ModelError('server_error', 'It broke.'),
    {
      error: InternalServerError,
      status: 500,
      type: 'server_error',
      code: 'server_error',
      param: null,
      message: 'It broke.',
    },
  ],
  [
    'an error that is not for clients',
    () => new Error('connect ECONNREFUSED 10.0.0.7:5432'),
    {
      error: InternalServerError,
      status: 500,
      type: 'server_error',
      code: 'server_error',
      param: null,
      message: /^The server had an error/,
    },
  ],
];
