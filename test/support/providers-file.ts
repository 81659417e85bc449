import { writeFile } from 'node:fs/promises';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Logger } from '@nestjs/common';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { EnvironmentError, ProviderRegistry } from '../../src/index.js';
import { type DescribedService, useService } from './describe-service.js';
import { endingWith, type Service, type ServiceOptions, SLOW_REFUSALS, startService } from './service.js';
import { toText, writeTemporaryFile } from './temporary-file.js';
import { ServiceLog } from './service-log.js';

/** A service in front of upstreams of a test. */
export interface ProvidedService extends Service {
  /** Path of its providers file, which may be written again. */
  readonly providersFile: string;
}

/**
 * Starts the service with a providers file; with `within`, that service loads it instead. When the service ends or does not start, `end` is
 * done as well.
 */
export async function startWithProviders(
  content: object,
  { within, environment, ...options }: ServiceOptions & { readonly within?: ReloadingService | undefined },
  end: () => Promise<unknown>,
): Promise<ProvidedService> {
  const file = within === undefined ? await writeTemporaryFile('providers.json', content) : undefined;
  const providersFile = file?.path ?? within?.path() ?? '';
  const dispose = async (): Promise<void> => {
    await end();
    await file?.remove();
  };
  try {
    const variables = { ...SLOW_REFUSALS, PROVIDERS_FILE: providersFile, ...environment };
    const service = await (within?.open(content) ?? startService({ ...options, environment: variables }));
    return endingWith({ ...service, providersFile }, dispose);
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** How a start ended that a providers file stopped, or a reload that it failed. */
export interface StartFault {
  /** What the operator is told. */
  readonly message: string;
  /** All that was logged, and what the process warned of. */
  readonly logged: string;
}

/** What a file is called, and what it says: text, or a value that is written as JSON. */
export interface FileContent {
  readonly name?: string;
  readonly content: string | object;
}

/** Starts the service with a file that cannot be used. Rejects when it starts nevertheless, or fails in another way. */
export function faultOfFile(file: FileContent, options: ServiceOptions = {}): Promise<StartFault> {
  return withFile(file, async (path) => {
    const log = new ServiceLog();
    const warnings = collectWarnings();
    try {
      const message = await failedStart(path, log, options);
      return { message, logged: [log.text, ...warnings.texts].join('\n') };
    } finally {
      warnings.end();
      log[Symbol.dispose]();
    }
  });
}

const NOT_RELOADED = /^error cannot reload .+?, keeping the previous configuration: ([^]*) ProviderRegistry$/;

/** A service whose providers each test says. */
export interface ReloadingService {
  readonly service: DescribedService;
  /** Path of its providers file. */
  readonly path: () => string;
  /** Replaces the providers file, and has it loaded, as SIGHUP does: the same call as at a start. */
  readonly load: (content: string | object) => Promise<void>;
  /** The service with this file. A test closes it as if it were its own: then there are no providers again. */
  readonly open: (content: string | object) => Promise<Service>;
}

/** A service that the tests of a file share, with a providers file of this name, which has no providers at first. */
export function useProvidersFile(name: string, options: ServiceOptions = {}): ReloadingService {
  let path = '';
  const service = useService(async (): Promise<Service> => {
    const file = await writeTemporaryFile(name, {});
    ({ path } = file);
    const environment = { PROVIDERS_FILE: path, ...options.environment };
    return endingWith(await startService({ ...options, environment }), () => file.remove());
  });
  const load = async (content: string | object): Promise<void> => {
    await writeFile(path, toText(content));
    await service.app.get(ProviderRegistry).reload();
  };
  const open = async (content: string | object): Promise<Service> => {
    await load(content);
    const { app, origin, baseURL, port } = service;
    const [turns, connections] = [app.get(RunningTurns), app.get(ConnectionRegistry)];
    const close = async (): Promise<void> => {
      await load({});
      // A service that ends waits for them, too.
      while (turns.size > 0 || connections.size > 0) await nextLoopTurn();
    };
    const client: Service['client'] = (options) => service.client(options);
    return { app, origin, baseURL, port, client, close, [Symbol.asyncDispose]: close };
  };
  return { service, path: () => path, load, open };
}

/** Loads files that cannot be used into one service: a reload says so in the words of a start, and the service goes on. */
export function useFailingReload(name: string): (content: string | object) => Promise<StartFault> {
  const { load } = useProvidersFile(name);
  return async (content) => {
    using log = new ServiceLog();
    Logger.overrideLogger(log);
    const warnings = collectWarnings();
    await load(content).finally(() => warnings.end());
    const [message] = log.lines.flatMap((line) => NOT_RELOADED.exec(line)?.[1] ?? []);
    if (message === undefined) throw new Error(`the file is loaded: ${log.text}`);
    return { message, logged: [log.text, ...warnings.texts].join('\n') };
  };
}

/** Runs something with a file in a directory of its own, which is gone afterwards. */
export async function withFile<T>({ name, content }: FileContent, use: (path: string) => Promise<T>): Promise<T> {
  const ending = typeof content === 'string' ? 'yaml' : 'json';
  await using file = await writeTemporaryFile(name ?? `providers.${ending}`, content);
  return await use(file.path);
}

/** The message of a start that PROVIDERS_FILE stops. */
export async function failedStart(path: string, log: ServiceLog, options: ServiceOptions = {}): Promise<string> {
  const { imports = [], environment, ...rest } = options;
  const start = startService({
    ...rest,
    imports: [...imports, log.asModule()],
    environment: { PROVIDERS_FILE: path, ...environment },
  });
  const error: unknown = await start.then(
    async (service) => {
      await service.close();
      return new Error('the service has started');
    },
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof EnvironmentError)) throw error;
  return error.message;
}

/** What libraries tell the process instead of the log ends up on its standard error all the same. */
function collectWarnings(): { readonly texts: readonly string[]; end(): void } {
  const texts: string[] = [];
  const emitWarning = Object.getOwnPropertyDescriptor(process, 'emitWarning') ?? {};
  process.emitWarning = (warning: string | Error) => void texts.push(String(warning));
  return { texts, end: () => void Object.defineProperty(process, 'emitWarning', emitWarning) };
}
