import type { InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import OpenAI, { type ClientOptions } from 'openai';

import {
  AntiphonModule,
  type AntiphonOptions,
  configureApp,
  createAdapter,
  type ModelProviderBase,
  SimulatorModule,
} from '../../src/index.js';

export interface ServiceOptions {
  readonly environment?: Readonly<Record<string, unknown>>;
  /** Absent: the simulator, as with `npm start`. */
  readonly providers?: readonly Type<ModelProviderBase>[];
  /** Modules of the test's own, such as one with an observer. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
  readonly injectedTools?: AntiphonOptions['injectedTools'];
  readonly webSearchEngines?: AntiphonOptions['webSearchEngines'];
  readonly reranker?: AntiphonOptions['reranker'];
  /** Contracts to replace, by their DI token. */
  readonly overrides?: readonly (readonly [token: InjectionToken, value: unknown])[];
}

/**
 * Variables of services that have to ask an upstream or a database before they refuse. By default a stream begins after a second without
 * output, and the error comes in it rather than as an HTTP error: also after a second in which the machine stood still.
 */
export const SLOW_REFUSALS = { MODEL_ACCEPT_TIMEOUT_MS: 600_000 } as const;

/** The real service on a free port of the loopback interface. */
export interface Service extends AsyncDisposable {
  readonly app: NestFastifyApplication;
  readonly origin: string;
  readonly baseURL: string;
  readonly port: number;
  client(options?: ClientOptions): OpenAI;
  close(): Promise<void>;
}

/** Starts the service the way a user's test does: our module, overridden providers, configureApp. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { environment, providers, imports = [], injectedTools = [], webSearchEngines = [], overrides = [] } = options;
  const { reranker } = options;
  const module = AntiphonModule.forRoot({
    environment: { DRAIN_TIMEOUT_MS: 0, ...environment },
    injectedTools,
    webSearchEngines,
    ...(reranker === undefined ? {} : { reranker }),
    ...(providers === undefined ? { imports: [SimulatorModule.asFallback(), ...imports] } : { imports, providers }),
  });
  const builder = Test.createTestingModule({ imports: [module] });
  for (const [token, value] of overrides) builder.overrideProvider(token).useValue(value);
  const testing = await builder.compile();
  const app = testing.createNestApplication<NestFastifyApplication>(createAdapter(), { logger: false });
  try {
    // The services of a process are closed by its tests.
    await configureApp(app, { signals: false });
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    // What has started before it failed would go on.
    await app.close();
    throw error;
  }
  const { port } = app.getHttpServer().address() as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  const baseURL = `${origin}/v1`;
  const close = (): Promise<void> => app.close();
  return {
    app,
    origin,
    baseURL,
    port,
    client: (options) => new OpenAI({ apiKey: 'test', baseURL, maxRetries: 0, ...options }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A service with which something else ends, such as its state. */
export function endingWith<Started extends Service>(service: Started, end: () => Promise<unknown>): Started {
  const close = async (): Promise<void> => {
    await service.close();
    await end();
  };
  return { ...service, close, [Symbol.asyncDispose]: close };
}
