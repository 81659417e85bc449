import type { ApiError, ErrorCode } from './errors.js';

/** The addressee of an error frame. */
export interface ErrorFrameOptions {
  /** The lane it answers; undefined for the default lane or the connection. */
  readonly streamId?: string | undefined;
  /** The request id under which the error is logged. */
  readonly requestId?: string | undefined;
}

/** HTTP headers that have no meaning on a socket. */
const HTTP_ONLY: ReadonlySet<string> = new Set(['connection', 'www-authenticate', 'allow']);

/** The code of an internal error on sockets (docs/decisions/2026-11-21-protocol-choices.md). */
const INTERNAL: ErrorCode = 'processing_error';

/**
 * An error as the JSON text of a frame (protocol §6.3). Always contains `status`, because Codex waits indefinitely
 * without it; headers are in both places where clients look for them.
 */
export function toErrorFrame(error: ApiError, { streamId, requestId }: ErrorFrameOptions = {}): string {
  const { message, type, param, code } = error.toBody().error;
  const given = Object.entries(error.headers).filter(([name]) => !HTTP_ONLY.has(name));
  if (requestId !== undefined) given.push(['x-request-id', requestId]);
  const headers = given.length === 0 ? {} : { headers: Object.fromEntries(given) };
  return JSON.stringify({
    type: 'error',
    status: error.status,
    ...(streamId === undefined ? {} : { stream_id: streamId }),
    error: { type, code: code === 'server_error' ? INTERNAL : code, message, param, ...headers },
    ...headers,
  });
}
