import type { RawAnswer } from './raw-client.js';

/** What no client may ever be shown. */
const INSIDES = /node_modules|file:\/\/|\.[jt]s:\d+|\n\s+at |\/src\/|\/dist\/|FST_ERR|TypeError|RangeError|ERR_[A-Z]/;

interface Envelope {
  readonly object?: unknown;
  readonly error?: { readonly message?: unknown; readonly type?: unknown; readonly code?: unknown } | null;
}

/**
 * What is wrong with an answer, whatever was asked: undefined for an answer of 200 or 4xx with JSON, an OpenAI error or a
 * Response (or its whole stream), nothing of our insides, and no failure of our own making.
 */
export function findFault({ status, headers, text }: RawAnswer): string | undefined {
  const shown = `${status} ${text.slice(0, 300)}`;
  if (status !== 200 && (status < 400 || status > 499)) return `neither 200 nor 4xx: ${shown}`;
  if (headers['x-request-id'] === undefined) return `no x-request-id: ${shown}`;
  const type = headers['content-type'];
  if (status === 200 && type === 'text/event-stream; charset=utf-8') return findStreamFault(text);
  if (type !== 'application/json; charset=utf-8') return `content type ${String(type)}: ${shown}`;
  const body = JSON.parse(text) as Envelope;
  if (status === 200) {
    if (body.object !== 'response') return `no Response: ${shown}`;
    return body.error?.code === 'server_error' ? `a failure of our own: ${JSON.stringify(body.error)}` : undefined;
  }
  return findErrorFault(text, shown);
}

/** The same for a body that should be an OpenAI error. */
export function findErrorFault(text: string, shown = text): string | undefined {
  const { error, ...others } = JSON.parse(text) as Envelope;
  if (Object.keys(others).length > 0 || typeof error !== 'object' || error === null) return `no OpenAI error: ${shown}`;
  if (Object.keys(error).sort().join() !== 'code,message,param,type') return `no OpenAI error: ${shown}`;
  if (typeof error.message !== 'string' || error.message === '') return `no message: ${shown}`;
  if (INSIDES.test(error.message)) return `shows insides: ${shown}`;
  if (error.message.length > 2000) return `a message of ${error.message.length} characters: ${shown}`;
  return undefined;
}

function findStreamFault(text: string): string | undefined {
  const last = text.slice(-300);
  if (!text.endsWith('data: [DONE]\n\n')) return `a stream without end: ${last}`;
  if (!/\nevent: response\.(completed|incomplete|failed)\n/.test(text))
    return `a stream without terminal event: ${last}`;
  return /\nevent: response\.failed\n.*server_error/.test(text) ? `a failure of our own: ${last}` : undefined;
}
