import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from './api-client.js';
import { type Service, type ServiceOptions, startService } from './service.js';

/** How the service of a block is started: with options, or by a function when the tests are about to run. */
export type ServiceStart<Started extends Service> = ServiceOptions | (() => Promise<Started>);

/** A service that is there while tests run, with what most of them ask it for. */
export type DescribedService<Started extends Service = Service> = Started & {
  /** The scripted model behind it. */
  readonly provider: ScriptedProvider;
  /** A bare HTTP client of it. */
  readonly api: ApiClient;
};

/** Describes a service that all tests of the block share: it is started before the first and closed after the last. */
export function describeService<Started extends Service = Service>(
  name: string,
  start: ServiceStart<Started>,
  tests: (service: DescribedService<Started>) => void,
): void {
  describe(name, () => tests(useService(start)));
}

/** The service that all tests of a block or a file share. It fails the file when something of it outlives its end. */
export function useService<Started extends Service = Service>(start: ServiceStart<Started>): DescribedService<Started> {
  return useWithin(start, beforeAll, afterAll);
}

/** The same with a scripted model, which forgets before each test what another one has told it. */
export function useScriptedService<Started extends Service = Service>(
  start: ServiceStart<Started>,
): DescribedService<Started> {
  const service = useService(start);
  beforeEach(() => void service.provider.reset());
  return service;
}

/** A service for each test of a block: where one test would see what another one did. */
export function useFreshService<Started extends Service = Service>(
  start: ServiceStart<Started>,
): DescribedService<Started> {
  return useWithin(start, beforeEach, afterEach);
}

/** Services that tests of a file share where their environment is the same. Each is started for the first of these tests. */
export function useServices(
  options: Omit<ServiceOptions, 'environment'> = {},
  start: (options: ServiceOptions) => Promise<Service> = startService,
): (environment: ServiceOptions['environment']) => Promise<Service> {
  const started = new Map<string, Promise<Service>>();
  afterAll(async () => {
    for (const starting of started.values()) {
      // One that did not start has failed its test.
      const service = await starting.catch(() => undefined);
      if (service !== undefined) await closeWhole(service);
    }
  });
  return (environment) => {
    const name = JSON.stringify(environment);
    const starting = started.get(name) ?? start({ ...options, environment });
    started.set(name, starting);
    return starting;
  };
}

/** Closes a service. Throws when turns or sockets of it are left. */
export async function closeWhole(service: Service): Promise<void> {
  const [turns, connections] = [service.app.get(RunningTurns), service.app.get(ConnectionRegistry)];
  await service.close();
  if (turns.size > 0) throw new Error(`${turns.size} turns run on after the end of their service`);
  if (connections.size > 0) throw new Error(`${connections.size} sockets are open after the end of their service`);
}

type Hook = (run: () => Promise<void>) => void;

function useWithin<Started extends Service>(
  start: ServiceStart<Started>,
  before: Hook,
  after: Hook,
): DescribedService<Started> {
  let running: Started | undefined;
  before(async () => {
    running = typeof start === 'function' ? await start() : ((await startService(start)) as Started);
  });
  after(async () => {
    const last = running;
    running = undefined;
    // It may not have started.
    if (last !== undefined) await closeWhole(last);
  });
  const current = (): Started => {
    if (running === undefined)
      throw new Error('the service runs only while tests do: ask for this in a test or a hook');
    return running;
  };
  return new Proxy({} as DescribedService<Started>, {
    get: (_, name) => {
      const service = current();
      if (name === 'provider') return service.app.get<ScriptedProvider, unknown>(ScriptedProvider);
      if (name === 'api') return new ApiClient(service.baseURL);
      return Reflect.get(service, name) as unknown;
    },
  });
}
