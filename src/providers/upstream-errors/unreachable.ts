import { ModelError } from '../model-error.js';

/** Codes of errors before a connection to the server exists, so that the request cannot have reached it. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A server that is down is likely to be back soon. */
const RETRY_AFTER_MS = 1000;

/** Whether an error says that there is no connection to the server. */
export function isUnreachable(error: unknown): boolean {
  return UNREACHABLE.has((Object(error) as { readonly code?: unknown }).code);
}

/** The 503 for a server that cannot be reached. */
export function unreachable(cause: unknown): ModelError {
  const message = 'The model is not available at the moment. Please retry your request.';
  const options = { status: 503, retryAfterMs: RETRY_AFTER_MS, upstreamWaitMs: 0, cause };
  return new ModelError('model_unavailable', message, options);
}
