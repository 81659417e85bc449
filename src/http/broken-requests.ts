import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { ApiError, type IdGenerator } from '../protocol/index.js';
import type { Clock } from '../time/index.js';
import { describeTarget, logRefusal } from './log-refusal.js';
import { openAiHeaders } from './openai-headers.js';
import { afterAnswers, answerRaw, keepWatching, trackAnswers } from './raw-answer.js';

/** Errors for requests that Node refuses, by its error code. */
const REFUSALS: ReadonlyMap<string, ApiError> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ApiError.of('request_timeout', 'The request took too long to arrive.')],
  ['HPE_HEADER_OVERFLOW', ApiError.of('request_header_too_large', 'The request headers are too large.')],
]);

const NO_TUNNEL = ApiError.of('method_not_supported', 'Not allowed to CONNECT: this server is no proxy.', {
  headers: { allow: '' },
});

const MALFORMED = ApiError.badRequest('The request is not valid HTTP.', null);

/** What Node tells of a request that it cannot read; `rawPacket` is what arrived last. */
type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** The first bytes of a TLS connection: a handshake record of any version. */
const TLS_HANDSHAKE = [0x16, 0x03];

/**
 * Limits the time for receiving a request, and answers incomplete and malformed requests, and those for a tunnel, with an OpenAI error body,
 * after the requests before them on the connection.
 * Requests with an unknown `Expect` are handed on: checkHead() refuses them like any other.
 */
export function answerBrokenRequests(
  server: Server,
  requestTimeoutMs: number,
  { ids, clock }: { readonly ids: IdGenerator; readonly clock: Clock },
): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  trackAnswers(server);
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.removeAllListeners('clientError');
  const broken = new WeakSet<Socket>();
  server.on('clientError', (error: ClientError, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    // Node says it again of everything that still arrives.
    if (broken.has(socket)) return;
    broken.add(socket);
    afterAnswers(socket, () => {
      const refusal = REFUSALS.get(error.code ?? '') ?? MALFORMED;
      // A client that leaves in the middle of a request was not refused anything.
      refuse(socket, refusal, error.code === 'HPE_INVALID_EOF_STATE' ? undefined : () => describeBroken(error));
    });
  });
  // Without a listener, Node would cut the connection, and with it the answers to the requests before.
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    socket.resume();
    keepWatching(socket);
    afterAnswers(socket, () => refuse(socket, NO_TUNNEL, () => describeTarget(request)));
  });

  function refuse(socket: Duplex, refusal: ApiError, what: (() => string) | undefined): void {
    const requestId = ids.next('req');
    if (what !== undefined) logRefusal(what, refusal, requestId);
    answerRaw(socket, refusal, openAiHeaders(requestId), clock);
  }
}

/** What was refused, for the log: a client that was given https:// for this port is told nothing that it can read. */
function describeBroken({ rawPacket }: ClientError): string {
  const isTls = TLS_HANDSHAKE.every((byte, index) => rawPacket?.[index] === byte);
  return isTls ? 'a TLS handshake, but this port speaks plain HTTP (http:// and ws://):' : 'an unreadable request';
}
