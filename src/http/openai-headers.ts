import type { IncomingMessage } from 'node:http';

import type { FastifyInstance, FastifyReply } from 'fastify';

import type { IdGenerator } from '../protocol/index.js';

/** The form of a request id that is safe in logs and headers. */
const SANE_REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** The `x-request-id` of the client or load balancer when it is safe, else a new id. */
export function chooseRequestId(request: IncomingMessage, ids: IdGenerator): string {
  const incoming = request.headers['x-request-id'];
  return typeof incoming === 'string' && SANE_REQUEST_ID.test(incoming) ? incoming : ids.next('req');
}

/** The headers of every answer, to HTTP and to upgrades (protocol §7). */
export function openAiHeaders(requestId: string): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, 'openai-version': '2020-10-01' };
}

/**
 * Adds the headers of protocol §7 to every answer. Uses hooks, because an interceptor would cost more than the route.
 */
export function answerWithOpenAiHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (_request, reply, done) => {
    setOpenAiHeaders(reply);
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    setProcessingTime(reply);
    done();
  });
}

/** Sets the headers of a reply. */
export function setOpenAiHeaders(reply: FastifyReply): void {
  void reply.headers(openAiHeaders(reply.request.id));
}

/** Sets the processing time so far, ms; on a stream, the time to its first event. */
export function setProcessingTime(reply: FastifyReply): void {
  void reply.header('openai-processing-ms', String(Math.round(reply.elapsedTime)));
}
