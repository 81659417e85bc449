import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { OutageLog } from '../logging/index.js';
import type { ApiError } from '../protocol/index.js';
import { StateError } from '../state/index.js';
import type { ApiRoutes } from './api-routes.js';
import { describeTarget, logRefusal } from './log-refusal.js';
import { toApiError, toHttpError } from './to-api-error.js';

const logger = new Logger('Http');
const outages = new OutageLog(logger);

/**
 * Answers a request with the OpenAI error body of a thrown value (protocol §7). Logs the refusal or, for an internal
 * error, details that clients must not see.
 *
 * @param routes absent before routing
 */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, routes?: ApiRoutes): void {
  const error = routes === undefined ? toApiError(thrown, request.id) : toHttpError(thrown, request, routes);
  log(error, thrown, request);
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

function log(error: ApiError, thrown: unknown, request: FastifyRequest): void {
  // Its client has left, or was answered before the body was complete.
  if (request.raw.destroyed && !request.raw.complete) return;
  if (error.status < 500 || error === thrown) {
    logRefusal(() => describeTarget(request), error, request.id);
    return;
  }
  const line = `request ${request.id} failed: ${describeTarget(request)}`;
  // Outages cause many of these: no stack.
  if (thrown instanceof StateError) outages.warn(line, thrown.message);
  else logger.error(line, thrown);
}
