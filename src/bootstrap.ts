import cluster from 'node:cluster';

import { Logger, NotFoundException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import type { FastifyRequest } from 'fastify';

import { ApiKeyGuard, Authenticator, EnvironmentAuthenticator } from './access/index.js';
import { AntiphonModule } from './antiphon.module.js';
import type { AntiphonOptions } from './antiphon-options.js';
import { selectBackend } from './backends.js';
import { Environment, readEnvironment } from './config/index.js';
import { createLogger } from './create-logger.js';
import {
  answerBrokenRequests,
  answerWithOpenAiHeaders,
  chooseRequestId,
  createAdapter,
  isApiPath,
  readJsonBodies,
} from './http/index.js';
import { OpenReplies } from './operations/index.js';
import { IdGenerator } from './protocol/index.js';
import { ProviderRegistry } from './providers/index.js';
import { SocketAdapter } from './responses/socket/index.js';

/**
 * Creates the configured application, ready to listen. Throws EnvironmentError when the environment is not valid or
 * there is no model provider.
 */
export async function createApp(options: AntiphonOptions = {}): Promise<NestFastifyApplication> {
  const module = AntiphonModule.forRoot(options);
  // Also read here, after the module has loaded `.env`: violations are reported without a stack, before Nest logs one.
  const environment = readEnvironment({ ...process.env, ...options.environment });
  selectBackend(environment.STATE, options.state);
  const app = await NestFactory.create<NestFastifyApplication>(module, createAdapter(), {
    abortOnError: false,
    logger: createLogger(environment),
  });
  return configureApp(app);
}

/**
 * Adds to an application that imports AntiphonModule what a module cannot: body parsing, request ids, CORS, time limits
 * and signals. Call it before `init()` or `listen()`; `createApp()` does so itself.
 */
export async function configureApp(app: NestFastifyApplication): Promise<NestFastifyApplication> {
  app.get(ProviderRegistry).requireProviders();
  const environment = app.get(Environment);
  const ids = app.get(IdGenerator);
  const guard = app.get(ApiKeyGuard);
  const replies = app.get(OpenReplies);
  const fastify = app.getHttpAdapter().getInstance();

  fastify.setGenReqId((request) => chooseRequestId(request, ids));
  answerWithOpenAiHeaders(fastify);
  fastify.addHook('onRequest', (request, reply, done) => {
    replies.add(reply.raw);
    // Unauthenticated requests and unknown routes are refused before their body is read. The route pattern decides,
    // because a URL has many spellings.
    const isGuarded = isApiPath(request.routeOptions.url ?? request.url) && request.method !== 'OPTIONS';
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
  await readJsonBodies(app, environment);
  answerBrokenRequests(app.getHttpServer(), environment.REQUEST_TIMEOUT_MS);
  if (environment.CORS_ORIGINS.length > 0) {
    const any = environment.CORS_ORIGINS.includes('*');
    app.enableCors({
      origin: any ? '*' : [...environment.CORS_ORIGINS],
      methods: ['GET', 'HEAD', 'POST', 'DELETE'],
      exposedHeaders: [
        'x-request-id',
        'openai-processing-ms',
        'openai-version',
        'retry-after',
        'retry-after-ms',
        'x-should-retry',
      ],
    });
  }
  app.useWebSocketAdapter(new SocketAdapter(app));
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  const byKeys = app.get(Authenticator) instanceof EnvironmentAuthenticator;
  if (byKeys && environment.API_KEYS.length === 0) warnWithoutKeys(environment);
  if (environment.STATE === 'memory' && environment.DATABASE_URL !== '') {
    new Logger('Antiphon').warn('DATABASE_URL is ignored: STATE=memory stores everything in this process');
  }
  if (environment.WORKERS > 1 && !cluster.isWorker) {
    new Logger('Antiphon').warn('WORKERS is ignored: an embedded service runs in one process');
  }
  return app;
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function warnWithoutKeys({ ALLOW_OPEN }: Environment): void {
  const reach = ALLOW_OPEN ? 'any client that reaches the port can use it' : 'only this machine can use it';
  new Logger('Antiphon').warn(`no API_KEYS: the service is open, and ${reach}`);
}
