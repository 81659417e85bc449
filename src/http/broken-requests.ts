import type { Server } from 'node:http';
import type { Socket } from 'node:net';

import { ApiError, type IdGenerator } from '../protocol/index.js';
import { logRefusal } from './log-refusal.js';
import { openAiHeaders } from './openai-headers.js';
import { isAnswering, trackAnswers } from './pending-answers.js';
import { answerRaw } from './raw-answer.js';

/** Errors for requests that Node refuses, by its error code. */
const REFUSALS: ReadonlyMap<string, ApiError> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ApiError.of('request_timeout', 'The request took too long to arrive.')],
  ['HPE_HEADER_OVERFLOW', ApiError.of('request_header_too_large', 'The request headers are too large.')],
]);

const MALFORMED = ApiError.badRequest('The request is not valid HTTP.', null);

/**
 * Limits the time for receiving a request, and answers incomplete and malformed requests with an OpenAI error body.
 * Requests with an unknown `Expect` are handed on: checkHead() refuses them like any other.
 */
export function answerBrokenRequests(server: Server, requestTimeoutMs: number, ids: IdGenerator): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  trackAnswers(server);
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (isAnswering(socket) || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const refusal = REFUSALS.get(error.code ?? '') ?? MALFORMED;
    const requestId = ids.next('req');
    // A client that leaves in the middle of a request was not refused anything.
    if (error.code !== 'HPE_INVALID_EOF_STATE') logRefusal(() => 'an unreadable request', refusal, requestId);
    answerRaw(socket, refusal, openAiHeaders(requestId));
  });
}
