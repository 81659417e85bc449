import type { Server } from 'node:http';
import type { Socket } from 'node:net';

import { ApiError } from '../protocol/index.js';
import { isAnswering, trackAnswers } from './pending-answers.js';
import { answerRaw } from './raw-answer.js';

/** Requests that Node itself refuses, by its error code. */
const REFUSALS: ReadonlyMap<string, ApiError> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ApiError.of('request_timeout', 'The request took too long to arrive.')],
  ['HPE_HEADER_OVERFLOW', ApiError.of('request_header_too_large', 'The request headers are too large.')],
]);

const MALFORMED = ApiError.badRequest('The request is not valid HTTP.', null);

/**
 * Bounds the time a whole request may take to arrive, and answers those that never become a request (half-open
 * connections, broken HTTP) with an OpenAI body as well.
 */
export function answerBrokenRequests(server: Server, requestTimeoutMs: number): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  trackAnswers(server);
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (isAnswering(socket) || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    answerRaw(socket, REFUSALS.get(error.code ?? '') ?? MALFORMED);
  });
}
