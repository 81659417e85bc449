import { isObject, parseJson } from '../../validation/index.js';

/** The error of an upstream, read from its body. */
export interface UpstreamFailure {
  readonly message: string;
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  /** HTTP status stated in the body. */
  readonly status: number | null;
}

/**
 * Reads the body of an error response, or an error in a stream: `{error:{…}}`, `{error:"…"}`, `{message,code}`, `{detail:[…]}`
 * or plain text.
 */
export function readFailure(text: string): UpstreamFailure {
  // HTML error pages carry no useful message.
  return describeFailure(parseJson(text) ?? (text.trimStart().startsWith('<') ? '' : text));
}

/** Reads a parsed error body. */
export function describeFailure(value: unknown): UpstreamFailure {
  if (Array.isArray(value) && isObject(value[0])) return describeFailure(value[0]);
  if (!isObject(value)) return { message: textOf(value), code: null, type: null, param: null, status: null };
  if (isObject(value.error) && isFailure(value.error)) {
    return { ...describeFailure(value.error), ...statusBeside(value) };
  }
  const { code, type, param, status, metadata } = value;
  // OpenRouter puts the error of the upstream it called here.
  const inner = isObject(metadata) && typeof metadata.raw === 'string' ? readFailure(metadata.raw).message : '';
  const number = [code, status, value.status_code, value.http_status_code, value.error_code].find(isHttpStatus);
  const words = [value.message, value.error, value.error_message, value.detail, value.msg].find(isFailure);
  return {
    message: inner === '' ? textOf(words) : inner,
    code: typeof code === 'string' ? code : null,
    type: typeof (type ?? value.error_type) === 'string' ? String(type ?? value.error_type) : null,
    param: typeof param === 'string' ? param : null,
    status: number === undefined ? null : Number(number),
  };
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
  if (Array.isArray(value)) return value.map((entry) => textOf(isObject(entry) ? entry.msg : entry)).join('; ');
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
