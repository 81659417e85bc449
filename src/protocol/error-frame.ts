import type { ApiError, ErrorCode } from './errors.js';

/** Where an error frame belongs. */
export interface ErrorFrameOptions {
  /** The named lane it answers; without one it is the default lane's or the connection's. */
  readonly streamId?: string | undefined;
  /** Under which our log has it. */
  readonly requestId?: string | undefined;
}

/** Headers of an HTTP answer that mean nothing on a socket. */
const HTTP_ONLY: ReadonlySet<string> = new Set(['connection', 'www-authenticate', 'allow']);

/** How an internal failure is called on sockets (docs/decisions/2026-11-21-protocol-choices.md). */
const INTERNAL: ErrorCode = 'processing_error';

/**
 * An error as the JSON text of a frame (protocol §6.3). `status` is always there, because Codex waits for ever without it;
 * headers stand in both places where clients look for them.
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
