import type * as OpenAI from 'openai/resources/responses/responses';

import { reasonOf } from '../../providers/index.js';
import { isObject, parseJson } from '../../validation/index.js';

/** Why a server gave no answer: a short word for metrics. */
export type McpFailureKind = 'busy' | 'credentials' | 'http' | 'protocol' | 'timeout' | 'too_large' | 'unreachable';

/** The error code of JSON-RPC for what is no answer of the protocol. */
export const NOT_VALID = -32_603;

/** The codes of failures that bring none: those of JSON-RPC, and statuses of HTTP where HTTP has failed. */
const CODES: Readonly<Record<McpFailureKind, number>> = {
  busy: -32_000,
  credentials: 401,
  http: 502,
  protocol: NOT_VALID,
  timeout: -32_001,
  too_large: -32_603,
  unreachable: 502,
};

/** The error code of JSON-RPC for a connection that ended without an answer. */
const CONNECTION_CLOSED = -32_000;

/** Codes of errors of connections that were open: the server may have handled what was sent. */
const CLOSED: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_SOCKET',
]);

/** Beginnings of codes of answers that are packed in another way than they say. */
const NOT_UNPACKED = /^(?:Z|ERR_BROTLI|ERR__ERROR)_/;

const OF_HTTP: ReadonlySet<McpFailureKind> = new Set(['credentials', 'http', 'unreachable']);

/** What is known of a failure besides. */
interface FailureOptions extends ErrorOptions {
  /** What the client is told in place of the message: it may quote the server, and with it arguments of the call. */
  readonly told?: string | undefined;
}

/** A server gave no answer to a request. The message is for operators, and quotes nothing that the server has sent. */
export class McpFailure extends Error {
  override readonly name = 'McpFailure';
  /** The message for the client. */
  readonly told: string;

  constructor(
    readonly kind: McpFailureKind,
    message: string,
    readonly code: number = CODES[kind],
    options: FailureOptions = {},
  ) {
    super(message, options);
    this.told = options.told ?? message;
  }

  /** An answer of HTTP that is none to the request; `text` is its body. */
  static ofStatus(status: number, text: unknown, options?: ErrorOptions): McpFailure {
    const message = `The server answered with HTTP ${status}.`;
    const said = typeof text === 'string' ? text.trim() : '';
    // The beginning of a page says nothing of the error.
    const more = isPage(said) ? ' and a web page.' : `: ${String(text)}`;
    const told = said === '' ? message : message.slice(0, -1) + more;
    return new McpFailure('http', message, status, { ...options, told });
  }

  /** An error of JSON-RPC that a server has answered with. */
  static ofError(code: number, told: string, options?: ErrorOptions): McpFailure {
    return new McpFailure('protocol', `The server answered with the error ${code}.`, code, { ...options, told });
  }

  /** The error of an `mcp_call` item; `message` stands in place of its own. */
  toCallError(message: string): OpenAI.McpToolCallError {
    return { type: OF_HTTP.has(this.kind) ? 'http_error' : 'mcp_protocol_error', code: this.code, message };
  }
}

/** An answer, or an event of one, that is longer than it may be. */
export function tooLarge(mostBytes: number): McpFailure {
  return new McpFailure('too_large', `The answer of the server has more than ${mostBytes} bytes.`);
}

/** The connection ended before the answer to a request: the server may have handled it. */
export function closed(message = 'The connection to the server was closed.', cause?: unknown): McpFailure {
  return new McpFailure('protocol', message, CONNECTION_CLOSED, { cause });
}

/** An answer that is none of the protocol. */
export function notValid(cause?: unknown): McpFailure {
  return new McpFailure('protocol', 'The answer of the server is not valid.', undefined, { cause });
}

/** What the error of a connection, or of the body of an answer, means. A server that was reached may have handled the request. */
export function toConnectionFailure(cause: unknown): McpFailure {
  const { code, name } = Object(cause) as { readonly code?: unknown; readonly name?: unknown };
  if (CLOSED.has(code)) return closed(undefined, cause);
  const isUnpacked = typeof code !== 'string' || !NOT_UNPACKED.test(code);
  // The error of undici for what is no HTTP.
  if (!isUnpacked || name === 'HTTPParserError') return notValid(cause);
  return new McpFailure('unreachable', `The server could not be reached: ${reasonOf(cause)}`, undefined, { cause });
}

/** Whether a body, or its beginning, is HTML or XML, whatever type it names. */
export function isPage(text: string): boolean {
  return text.trimStart().startsWith('<');
}

/** A web page in place of an answer: of a proxy, or one to log in. */
export function webPage(): McpFailure {
  return new McpFailure(
    'protocol',
    'The server answered with a web page: its URL may be another, or a proxy has answered.',
  );
}

/** What servers say of a session that they do not know. The second comes from one that has started again. */
const LOST_SESSION = /\bsession|server not initialized/i;

/** Codes of JSON-RPC for a request that was read: for an unknown method, invalid arguments, and a failure within the server. */
const OF_REQUESTS: ReadonlySet<unknown> = new Set([-32_601, -32_602, -32_603]);

/**
 * Whether an answer of HTTP to a request of a session says that the server does not know it: many say so with 400 in place of 404. Errors of
 * a request that was read may speak of other sessions: of a database, or in the name of an argument.
 */
export function isOfLostSession(status: number | undefined, text: unknown): boolean {
  if (status !== 400 || typeof text !== 'string') return status === 404;
  const body = parseJson(text);
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  return LOST_SESSION.test(text) && !OF_REQUESTS.has(error['code']);
}

/** The server has forgotten the session: the request was not handled, and may be sent again in a new one. */
export class SessionGoneError extends McpFailure {
  /** `text`: what else the server has said with HTTP 400. */
  constructor(status: number, text: unknown, options?: ErrorOptions) {
    const { told } = McpFailure.ofStatus(status, text);
    super('http', 'The server has forgotten the session.', status, { ...options, ...(status === 404 ? {} : { told }) });
  }
}
