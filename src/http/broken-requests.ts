import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

import { ApiError } from '../protocol/index.js';

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
  const answers = new WeakMap<Socket, ServerResponse>();
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (isAnswering(answers.get(socket)) || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const refusal = REFUSALS.get(error.code ?? '') ?? MALFORMED;
    const body = JSON.stringify(refusal.toBody());
    socket.end(
      [
        `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
        'content-type: application/json; charset=utf-8',
        `content-length: ${Buffer.byteLength(body)}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  });
}

/** Whether a whole request is being answered: what is written now would end up in its answer, or be taken for it. */
function isAnswering(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && !answer.writableFinished && (answer.headersSent || answer.req.complete);
}
