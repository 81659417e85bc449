import type { Server } from 'node:http';
import type { Socket } from 'node:net';

import { ApiError } from '../protocol/index.js';

/** Requests that Node itself refuses, by its error code. */
const REFUSALS: ReadonlyMap<string, ApiError> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ApiError.of('request_timeout', 'The request took too long to arrive.')],
  [
    'HPE_HEADER_OVERFLOW',
    new ApiError(431, 'invalid_request_error', 'request_header_too_large', null, 'The request headers are too large.'),
  ],
]);

const MALFORMED = ApiError.badRequest('The request is not valid HTTP.', null);

const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'Bad Request'],
  [408, 'Request Timeout'],
  [431, 'Request Header Fields Too Large'],
]);

/**
 * Bounds the time a whole request may take to arrive, and answers those that never become a request (half-open
 * connections, broken HTTP) with an OpenAI body as well.
 */
export function answerBrokenRequests(server: Server, requestTimeoutMs: number): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const refusal = REFUSALS.get(error.code ?? '') ?? MALFORMED;
    const body = JSON.stringify(refusal.toBody());
    socket.end(
      `HTTP/1.1 ${refusal.status} ${REASONS.get(refusal.status) ?? ''}\r\ncontent-type: application/json; charset=utf-8\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  });
}
