import { ModelError } from '../model-error.js';
import { serverError } from '../upstream-errors/to-model-error.js';
import { isUnreachable, unreachable } from '../upstream-errors/unreachable.js';
import { UpstreamTimeoutError } from './exchange-timer.js';
import type { UpstreamAnswer } from './upstream-answer.js';

export const BROKEN = 'The connection to the model broke. Please retry your request.';
export const UNREADABLE = 'The model sent an invalid response. Please retry your request.';
export const SILENT = 'The model did not answer in time. Please retry your request.';

/** The ModelError for what ended an exchange: a server that cannot be reached, a timeout, or else a broken connection. */
export function toExchangeError(cause: unknown): ModelError {
  if (cause instanceof ModelError) return cause;
  if (isUnreachable(cause)) return unreachable(cause);
  if (cause instanceof UpstreamTimeoutError) return serverError(SILENT, cause, { retry: 'other' });
  return serverError(BROKEN, cause);
}

/** The ModelError for an answer with nothing in it but what is not read. `what` names that, in words of this service; `reason` is for the log. */
export function notUnderstood(what: string, reason = `the answer has nothing but ${what}`): ModelError {
  const message = `The model's server answered in a form that is not understood: ${what}.`;
  return serverError(message, new Error(reason), { status: 502, retry: 'other' });
}

/** Throws ModelError 502 for an answer whose body is compressed, and closes its connection. */
export function refuseCompression(answer: UpstreamAnswer): void {
  const { compression } = answer;
  if (compression === null) return;
  answer.abort();
  throw notUnderstood(compression);
}
