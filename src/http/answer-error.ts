import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { StateError } from '../state/index.js';
import type { ApiRoutes } from './api-routes.js';
import { toApiError, toHttpError } from './to-api-error.js';

const logger = new Logger('Http');

/**
 * Answers a request with the OpenAI error body of a thrown value (protocol §7), and logs details that clients must not
 * see.
 *
 * @param routes absent before routing
 */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, routes?: ApiRoutes): void {
  const error = routes === undefined ? toApiError(thrown, request.id) : toHttpError(thrown, request, routes);
  if (error.status >= 500 && error !== thrown) {
    const line = `request ${request.id} failed: ${request.method} ${request.url.slice(0, 200)}`;
    // Outages cause many of these: no stack.
    if (thrown instanceof StateError) logger.warn(`${line}: ${thrown.message}`);
    else logger.error(line, thrown);
  }
  if (reply.sent || reply.raw.headersSent) return;
  // Fastify closes the connection when it refuses a body, while the client is still sending and so cannot read the
  // error. Without the header, Node discards the rest of the body.
  void reply.removeHeader('connection');
  void reply
    .status(error.status)
    .headers(error.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(error.toBody());
}
