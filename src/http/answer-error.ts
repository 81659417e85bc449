import { Logger } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { OutageLog } from '../logging/index.js';
import type { ApiError } from '../protocol/index.js';
import { StateError } from '../state/index.js';
import type { ApiRoutes } from './api-routes.js';
import { pathOf, sentUrlOf } from './api-paths.js';
import { describeTarget, logRefusal } from './log-refusal.js';
import { toApiError, toHttpError } from './to-api-error.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The form of the errors of a route; OpenAI's by default. */
    errorForm?: ErrorForm;
  }

  interface FastifyInstance {
    /** The forms of the routes that have one, by their paths. */
    errorForms: Map<string, ErrorForm>;
  }
}

/** The answer to a request that is refused, in one dialect. */
export type ErrorForm = (
  error: ApiError,
  request: Pick<FastifyRequest, 'id' | 'headers'>,
) => {
  readonly status: number;
  readonly body: object;
  /** Beside those of the error. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** An error as OpenAI words it. */
export const openAiForm: ErrorForm = (error) => ({ status: error.status, body: error.toBody() });

const logger = new Logger('Http');
const outages = new OutageLog(logger);

/** Notes the forms of the routes that are added from now on: requests that reach no route have that of the route at or above their path. */
export function noteErrorForms(fastify: FastifyInstance): void {
  const forms = new Map<string, ErrorForm>();
  fastify.decorate('errorForms', forms);
  fastify.addHook('onRoute', ({ url, config }) => {
    if (config?.errorForm !== undefined) forms.set(url, config.errorForm);
  });
}

function formOf({ routeOptions, server, url }: FastifyRequest): ErrorForm {
  if (routeOptions.config.errorForm !== undefined) return routeOptions.config.errorForm;
  const path = `${server.apiRoutes?.toOwn(pathOf(url)) ?? pathOf(url)}/`;
  for (const [route, form] of server.errorForms) if (path.startsWith(`${route}/`)) return form;
  return openAiForm;
}

/**
 * Answers a request with the error body of a thrown value (protocol §7), in the form of its route. Logs the refusal or, for an internal
 * error, details that clients must not see.
 *
 * @param routes absent before routing
 */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, routes?: ApiRoutes): void {
  const { id, method } = request;
  const sent = { id, method, url: sentUrlOf(request) };
  const error = routes === undefined ? toApiError(thrown, id) : toHttpError(thrown, sent, routes);
  log(error, thrown, request);
  if (reply.sent || reply.raw.headersSent) return;
  // Fastify closes the connection when it refuses a body, while the client is still sending and so cannot read the
  // error. Without the header, Node discards the rest of the body.
  void reply.removeHeader('connection');
  const { status, body, headers } = formOf(request)(error, request);
  void reply
    .status(status)
    .headers({ ...error.headers, ...headers })
    .header('content-type', 'application/json; charset=utf-8')
    .send(body);
}

function targetOf(request: FastifyRequest): string {
  return describeTarget({ method: request.method, url: sentUrlOf(request) });
}

function log(error: ApiError, thrown: unknown, request: FastifyRequest): void {
  // The client has left, or was answered before its body was complete.
  if (request.raw.destroyed && !request.raw.complete) return;
  if (error.status < 500 || error === thrown) {
    logRefusal(() => targetOf(request), error, request.id);
    return;
  }
  const line = `request ${request.id} failed: ${targetOf(request)}`;
  // Outages cause many of these: no stack.
  if (thrown instanceof StateError) outages.warn(line, thrown.message);
  else logger.error(line, thrown);
}
