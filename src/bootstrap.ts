import cluster from 'node:cluster';

import { Logger, NotFoundException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import { ApiKeyGuard, Authenticator, EnvironmentAuthenticator } from './access/index.js';
import { AntiphonModule } from './antiphon.module.js';
import type { AntiphonOptions } from './antiphon-options.js';
import { requireLibrary, selectBackend } from './backends.js';
import { Environment, hasCredentials, readEnvironment } from './config/index.js';
import { createLogger } from './logging/index.js';
import {
  answerBrokenRequests,
  answerWithOpenAiHeaders,
  checkHead,
  chooseRequestId,
  createAdapter,
  ApiRoutes,
  pathOf,
  readJsonBodies,
} from './http/index.js';
import { HttpMetrics, requireMetricsExporter } from './operations/metrics/index.js';
import { OpenReplies, SHUTDOWN_SIGNALS, ShutdownLimit } from './operations/index.js';
import { IdGenerator } from './protocol/index.js';
import { ProviderRegistry } from './providers/index.js';
import { SocketAdapter } from './responses/socket/index.js';
import { requireSpanExporter } from './operations/tracing/index.js';
import { Clock } from './time/index.js';

/** What an application does with its process. */
export interface ProcessOptions {
  /** Whether it shuts down on SIGTERM and SIGINT, and then ends the process. Default: true. */
  readonly signals?: boolean;
}

/**
 * Creates the configured application, ready to listen. Throws EnvironmentError when the environment is not valid, there is no model provider,
 * or a package is not installed that the environment asks for.
 */
export async function createApp(
  options: AntiphonOptions = {},
  processOptions?: ProcessOptions,
): Promise<NestFastifyApplication> {
  const module = AntiphonModule.forRoot(options);
  // Also read here, after the module has loaded `.env`: violations are reported without a stack, before Nest logs one.
  const environment = readEnvironment({ ...process.env, ...options.environment });
  selectBackend(environment.STATE, options.state);
  requireLibrary(environment, options.state);
  requireSpanExporter(environment);
  requireMetricsExporter(environment);
  const app = await NestFactory.create<NestFastifyApplication>(module, createAdapter(), {
    abortOnError: false,
    logger: createLogger(environment),
  });
  return configureApp(app, processOptions);
}

/**
 * Adds to an application that imports AntiphonModule what a module cannot: body parsing, request ids, CORS, time limits
 * and signals. Call it before `init()` or `listen()`; `createApp()` does so itself. Throws an Error for an application
 * that is not on Fastify, or has no model provider.
 */
export async function configureApp(
  app: NestFastifyApplication,
  { signals = true }: ProcessOptions = {},
): Promise<NestFastifyApplication> {
  requireFastify(app);
  app.get(ProviderRegistry).requireProviders();
  const environment = app.get(Environment);
  const ids = app.get(IdGenerator);
  const routes = app.get(ApiRoutes);
  const fastify = app.getHttpAdapter().getInstance();

  fastify.setGenReqId((request) => chooseRequestId(request, ids));
  routes.observe(fastify);
  answerWithOpenAiHeaders(fastify);
  checkBeforeBody(app, fastify, routes);
  app.get<HttpMetrics | null>(HttpMetrics)?.observe(fastify);
  readJsonBodies(app, environment);
  answerBrokenRequests(app.getHttpServer(), environment.REQUEST_TIMEOUT_MS, { ids, clock: app.get(Clock) });
  if (environment.CORS_ORIGINS.length > 0) admitWebPages(app, environment.CORS_ORIGINS);
  app.useWebSocketAdapter(new SocketAdapter(app));
  if (signals) {
    app.get(ShutdownLimit).listen();
    app.enableShutdownHooks([...SHUTDOWN_SIGNALS], { useProcessExit: true });
  }
  const isOpen = app.get(Authenticator) instanceof EnvironmentAuthenticator && !hasCredentials(environment);
  // Where the start fails, its reason is the only line.
  app.getHttpServer().once('listening', () => warnOf(environment, isOpen));
  return app;
}

/** Programs in JavaScript, and those that pass an application on, may bring one on Express: Nest's default. */
function requireFastify(app: NestFastifyApplication): void {
  const type = app.getHttpAdapter().getType();
  if (type === 'fastify') return;
  throw new Error(
    `Antiphon runs on Fastify, and this application on ${type}. Create it with antiphon's adapter: ` +
      'NestFactory.create(AppModule, createAdapter()).',
  );
}

/**
 * Refuses requests with a faulty head, unauthenticated ones, and those of unknown routes before their body is read. The route pattern
 * decides, because a URL has many spellings.
 */
function checkBeforeBody(app: NestFastifyApplication, fastify: FastifyInstance, routes: ApiRoutes): void {
  const guard = app.get(ApiKeyGuard);
  const replies = app.get(OpenReplies);
  fastify.addHook('onRequest', (request, reply, done) => {
    replies.add(reply.raw);
    checkHead(request.raw);
    const isGuarded = routes.includes(request.routeOptions.url ?? pathOf(request.url)) && request.method !== 'OPTIONS';
    const identified = isGuarded ? guard.identify(request) : undefined;
    const refuseUnknown = (): void => {
      if (request.is404 && hasBody(request)) throw new NotFoundException();
    };
    if (identified === undefined) {
      refuseUnknown();
      done();
    } else {
      identified.then(refuseUnknown).then(
        () => done(),
        (error: unknown) => done(error instanceof Error ? error : new Error('the caller could not be identified')),
      );
    }
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** What web pages may read of their limits (protocol §7). */
const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((what) =>
  ['requests', 'tokens'].map((kind) => `x-ratelimit-${what}-${kind}`),
);

/** Lets web pages of some origins use the API; `*` is all of them. */
function admitWebPages(app: NestFastifyApplication, origins: Environment['CORS_ORIGINS']): void {
  app.enableCors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    exposedHeaders: [
      'x-request-id',
      'request-id',
      'openai-processing-ms',
      'openai-version',
      'retry-after',
      'retry-after-ms',
      'x-should-retry',
      ...RATE_LIMIT_HEADERS,
    ],
  });
}

/** Where the built-in backends store everything. */
const PLACES: ReadonlyMap<string, string> = new Map([
  ['memory', 'this process'],
  ['sqlite', 'a file of this process'],
  ['postgres', 'PostgreSQL'],
  ['redis', 'Redis'],
]);

/** The addresses of databases, and the backends that use them. */
const ADDRESSES = [
  ['DATABASE_URL', 'postgres'],
  ['REDIS_URL', 'redis'],
] as const;

/** Warns of settings that are valid, but maybe not meant. */
function warnOf(environment: Environment, isOpen: boolean): void {
  const { ALLOW_OPEN, STATE, VECTOR_STORE_URL, WORKERS } = environment;
  const logger = new Logger('Antiphon');
  if (isOpen) {
    const reach = ALLOW_OPEN ? 'any client that reaches the port can use it' : 'only this machine can use it';
    logger.warn(`no API_KEYS: the service is open, and ${reach}`);
  }
  const place = PLACES.get(STATE);
  for (const [name, state] of ADDRESSES) {
    if (place !== undefined && STATE !== state && environment[name] !== '') {
      logger.warn(`${name} is ignored: STATE=${STATE} stores everything in ${place}`);
    }
  }
  if (STATE === 'redis' && VECTOR_STORE_URL === '') {
    logger.warn('STATE=redis keeps no files: the Files API needs VECTOR_STORE_URL');
  }
  if (STATE !== 'redis' && place !== undefined && VECTOR_STORE_URL !== '') {
    logger.warn(`VECTOR_STORE_URL is ignored: STATE=${STATE} keeps files in ${place}`);
  }
  if (WORKERS > 1 && !cluster.isWorker) {
    logger.warn('WORKERS is ignored: an embedded service runs in one process');
  }
}
