import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { answerError } from './answer-error.js';
import { setOpenAiHeaders, setProcessingTime } from './openai-headers.js';

/** Ids in paths may be long; what no header can hold cannot come. */
const LONGEST_PATH_PARAMETER = 16 * 1024;

/** How often Node looks for requests that take too long to arrive, ms. */
const CONNECTIONS_CHECKING_INTERVAL_MS = 5000;

/** The HTTP adapter with what only its constructor can be told: the form of errors that come before any route. */
export function createAdapter(): FastifyAdapter {
  return new FastifyAdapter({
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER },
    frameworkErrors: answerUnrouted,
    http: {
      connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
      // Some HTTP clients offer h2c with every request, and it is theirs to go on without.
      shouldUpgradeCallback: ({ headers }) => /^websocket$/i.test(headers.upgrade ?? ''),
    },
  });
}

/** Answers what Fastify refuses before it has a route: no hook runs for that. */
function answerUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  setOpenAiHeaders(reply);
  setProcessingTime(reply);
  answerError(error, request, reply);
}
