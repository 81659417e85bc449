import { isObject, objectsIn, parseJson } from '../../validation/index.js';

/** The error of an upstream, read from its body. */
export interface UpstreamFailure {
  readonly message: string;
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  /** HTTP status stated in the body. */
  readonly status: number | null;
  /** The wait that it asks for beside its words, as in `34s`. */
  readonly retryDelay?: string;
}

/** Where servers say what is wrong, the first of which counts. */
const MESSAGES = [
  'message',
  'error',
  'errors',
  'error_message',
  'detail',
  'msg',
  'status_msg',
  // Of AWS, and of servers in Java.
  'Message',
  'errorMessage',
];

/** Codes of MiniMax, by HTTP status. */
const MINIMAX: Readonly<Partial<Record<number, number>>> = {
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1039: 429,
  2013: 400,
};

/**
 * Reads the body of an error response, or an error in a stream: `{error:{…}}`, `{error:"…"}`, `{errors:[…]}`, `{message,code}`,
 * `{detail:[…]}`, `{base_resp:{…}}` or plain text.
 */
export function readFailure(text: string): UpstreamFailure {
  // HTML error pages carry no useful message.
  return describeFailure(parseJson(text) ?? (text.trimStart().startsWith('<') ? '' : text));
}

/** Reads a parsed error body. */
export function describeFailure(value: unknown): UpstreamFailure {
  if (Array.isArray(value) && isObject(value[0])) return describeFailure(value[0]);
  if (!isObject(value)) return { message: textOf(value), code: null, type: null, param: null, status: null };
  const inside = insideOf(value);
  if (inside !== undefined) return { ...describeFailure(inside), ...statusBeside(value) };
  const { code, type, param, status, metadata } = value;
  // OpenRouter puts the error of the upstream it called here.
  const raw = isObject(metadata) ? failureIn(firstOf(metadata.raw)) : undefined;
  const number = [code, status, value.status_code, value.http_status_code, value.error_code].find(isHttpStatus);
  const words = MESSAGES.map((name) => value[name]).find(isFailure);
  return {
    message: raw?.message || failureIn(words)?.message || textOf(words),
    code: typeof code === 'string' ? code : null,
    type: typeof (type ?? value.error_type) === 'string' ? String(type ?? value.error_type) : null,
    param: typeof param === 'string' ? param : null,
    status: number === undefined ? (MINIMAX[Number(value.status_code)] ?? null) : Number(number),
    ...(raw?.retryDelay === undefined ? {} : { retryDelay: raw.retryDelay }),
    ...retryDelayIn(value.details),
  };
}

/** Google's `RetryInfo`, one of the details of an error. */
function retryDelayIn(details: unknown): Pick<UpstreamFailure, 'retryDelay'> {
  const delay = objectsIn(details).find(({ retryDelay }) => typeof retryDelay === 'string')?.retryDelay;
  return typeof delay === 'string' ? { retryDelay: delay } : {};
}

/** The object in which an error stands, if it is not the body itself. */
function insideOf({ error, base_resp: state, message, detail }: Readonly<Record<string, unknown>>): unknown {
  if (isObject(error) && isFailure(error)) return error;
  if (isObject(state) && isFailure(state.status_code)) return state;
  return !isFailure(message) && !isFailure(error) && isObject(detail) && isFailure(detail) ? detail : undefined;
}

/** A body, which may be a text, or the first of a list of them. */
function firstOf(value: unknown): unknown {
  const body = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(body) ? body[0] : body;
}

/** The error within another: gateways pass on the body of their upstream, also as text. */
function failureIn(value: unknown): UpstreamFailure | undefined {
  const body = typeof value === 'string' ? parseJson(value) : value;
  return isObject(body) && !Array.isArray(body.detail) ? describeFailure(body) : undefined;
}

/** Whether a member for an error has one: some servers write it into every chunk, as `false`, as a blank or as an object without any. */
export function isFailure(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isFailure);
  return typeof value === 'string' ? value.trim() !== '' : Boolean(value);
}

function statusBeside({ status_code: status }: Readonly<Record<string, unknown>>): { readonly status?: number } {
  return isHttpStatus(status) ? { status: Number(status) } : {};
}

function isHttpStatus(value: unknown): boolean {
  return (typeof value === 'number' || typeof value === 'string') && /^[45]\d\d$/.test(String(value));
}

/** The text of a message; lists of validation errors are joined. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isObject(value) && Array.isArray(value.detail)) return textOf(value.detail);
  if (Array.isArray(value)) {
    return value.map((entry) => (isObject(entry) ? violationOf(entry) : textOf(entry))).join('; ');
  }
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** What a validation error says, behind its place: without that, it may be about anything. */
function violationOf({ loc, msg, message }: Readonly<Record<string, unknown>>): string {
  const words = textOf(msg ?? message);
  return Array.isArray(loc) && loc.length > 0 ? `${loc.join('.')}: ${words}` : words;
}
