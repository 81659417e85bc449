import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { StateError } from '../state/index.js';
import { toHttpError } from './to-api-error.js';

const logger = new Logger('Http');

/** Answers a request with the OpenAI body of what was thrown (protocol §7), and logs what was not meant for clients. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toHttpError(thrown, request);
  if (error.status >= 500 && error !== thrown) {
    const line = `request ${request.id} failed: ${request.method} ${request.url.slice(0, 200)}`;
    // What passes by itself comes in numbers.
    if (thrown instanceof StateError) logger.warn(`${line}: ${thrown.message}`);
    else logger.error(line, thrown);
  }
  if (reply.sent || reply.raw.headersSent) return;
  // Fastify would close the connection on a body it does not want, while the client still sends it and so never gets to
  // read why. Left open, Node throws the rest of the body away.
  void reply.removeHeader('connection');
  void reply
    .status(error.status)
    .headers(error.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(error.toBody());
}
