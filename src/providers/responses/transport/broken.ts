import { isUnreachable } from '../../upstream-errors/unreachable.js';
import { UpstreamTimeoutError } from '../../upstream-http/exchange-timer.js';
import { UpstreamError } from '../upstream-error.js';

/** The body or the socket ended in order, but too early. */
export const CLOSED_EARLY = 'stream closed before response.completed';

/** The UpstreamError for a connection that broke; another attempt may help. */
export function broken(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError(message, { remedy: 'retry', cause });
}

/** The UpstreamError for a connection that could not be established, or broke before its answer. */
export function unanswered(cause: unknown): UpstreamError {
  return new UpstreamError(wordsOf(cause), {
    remedy: 'retry',
    isRequestLevel: true,
    isUnreachable: isUnreachable(cause),
    cause,
  });
}

/** Codes of errors that are a program's fault, such as an invalid header. */
const OWN_FAULT = /^(?:UND_ERR|ERR(?:_HTTP)?)_INVALID/;

/** Names of errors for an answer that is no HTTP, or whose events are too long. */
const UNREADABLE: ReadonlySet<unknown> = new Set(['HTTPParserError', 'ParseError']);

/** Whether an error comes from the network or the other side, and not from a program. One that is an UpstreamError says all itself. */
export function isNetworkError(error: unknown): boolean {
  if (error instanceof UpstreamError) return false;
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  if (error instanceof UpstreamTimeoutError || UNREADABLE.has(name)) return true;
  return typeof code === 'string' && !OWN_FAULT.test(code);
}

/** What the network says of an error: its message, or its code if it has none. */
export function wordsOf(error: unknown): string {
  const { message } = Object(error) as { readonly message?: unknown };
  return typeof message === 'string' && message !== '' ? message : String(codeOf(error) ?? error);
}

function codeOf(error: unknown): unknown {
  return (Object(error) as { readonly code?: unknown }).code;
}
