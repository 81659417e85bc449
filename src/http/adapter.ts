import { createRequire } from 'node:module';

import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RawRequestDefaultExpression as RawRequest } from 'fastify';

import { answerError, noteErrorForms } from './answer-error.js';
import { noteSentUrl } from './api-paths.js';
import { setOpenAiHeaders, setProcessingTime } from './openai-headers.js';
import { isAnswering } from './raw-answer.js';
import { discardUnread } from './read-body.js';

/** Longest path parameter: the size limit of request headers bounds the URL anyway. */
const LONGEST_PATH_PARAMETER = 16 * 1024;

/** How often Node checks for requests that exceed their time limit, ms. */
const CONNECTIONS_CHECKING_INTERVAL_MS = 5000;

/** The HTTP adapter with its constructor options: the form of errors before routing. */
export function createAdapter(): FastifyAdapter {
  const adapter = new FastifyAdapter({
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    frameworkErrors: answerUnrouted,
    schemaController: {
      compilersFactory: {
        buildValidator: ofFastify('@fastify/ajv-compiler'),
        buildSerializer: ofFastify('@fastify/fast-json-stringify-compiler'),
      },
    },
    rewriteUrl: toRoutedUrl,
    http: {
      // Node would answer with an empty body; checkHead() refuses these requests.
      requireHostHeader: false,
      connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
      // Some HTTP clients offer h2c with every request and continue without it.
      // Behind a request that is being answered nothing can be upgraded, and Node would no longer serve that request.
      shouldUpgradeCallback: ({ headers, socket }) =>
        /^websocket$/i.test(headers.upgrade ?? '') && !isAnswering(socket),
    },
  });
  takeAsOwnCompilers(adapter.getInstance());
  noteErrorForms(adapter.getInstance());
  // Else Node closes the connection of a client that has sent its request and half-closes. Who waits for an answer probes such a client.
  Object.assign(adapter.getInstance().server, { httpAllowHalfOpen: true });
  return adapter;
}

/** The URL of a request as the router takes it. */
function toRoutedUrl(this: FastifyInstance, request: RawRequest): string {
  const { url = '/' } = request;
  // The router takes the asterisk form for `/`, and runs no hook for it.
  if (url === '*') return '/*';
  const routed = this.apiRoutes?.toRouted(url) ?? url;
  if (routed !== url) noteSentUrl(request, url);
  return routed;
}

/** Answers errors that Fastify raises before routing; no hook runs for these. */
function answerUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  setOpenAiHeaders(reply);
  setProcessingTime(reply);
  discardUnread(request);
  answerError(error, request, reply);
}

/**
 * Makes one of Fastify's own compilers of schemas, with the first schema. Fastify loads them when it is created, and Ajv with them: 40 ms of CPU. No
 * route of the service has such a schema; those of programs may.
 */
// What it makes is of another type in each place.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
function ofFastify<T>(name: string): T {
  const make = (...given: readonly unknown[]): unknown => {
    const { resolve } = createRequire(import.meta.url);
    const compilers = createRequire(resolve('fastify'))(name) as () => (...given: readonly unknown[]) => unknown;
    return compilers()(...given);
  };
  return make as T;
}

/** Fastify leaves the names in schemas of headers as they are for the compilers of others, and these are its own. */
function takeAsOwnCompilers(fastify: object): void {
  for (const symbol of Object.getOwnPropertySymbols(fastify)) {
    if (symbol.description !== 'fastify.schemaController') continue;
    Object.assign(Reflect.get(fastify, symbol) as object, { isCustomValidatorCompiler: false });
  }
}
