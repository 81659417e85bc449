import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Saver } from '../processes/saver.ts';
import { Server } from '../processes/server.ts';
import { MODEL_PREFIX } from '../upstream-traffic.ts';

/** Database connections of a saver: the service's default. */
const DATABASE_POOL_SIZE = '10';

/** Starts the built service, with the simulator by default. */
export function startBuiltService(environment?: Readonly<Record<string, string>>): Promise<Server> {
  return Server.start('the service', new URL('../../dist/main.js', import.meta.url), environment);
}

/** Starts the built service without benchmark code in its process. */
export function startBareService(): Promise<Server> {
  return Server.startBare('the service', new URL('../../dist/main.js', import.meta.url));
}

/** Starts an empty Nest application without benchmark code in its process. */
export function startEmptyApp(): Promise<Server> {
  return Server.startBare('the empty app', new URL('../servers/empty-app.js', import.meta.url));
}

/** Starts the service with a model that writes the traffic requested in the metadata. */
export function startService(environment?: Readonly<Record<string, string>>): Promise<Server> {
  return Server.start('the service', new URL('../servers/service.ts', import.meta.url), environment);
}

/** A minimal server; the honest ones implement the full functionality of a turn. */
export type FloorProgram =
  | 'sse-floor'
  | 'sse-precomputed'
  | 'ws-floor'
  | 'ws-precomputed'
  | 'json-floor'
  | 'nest-floor'
  | 'parse-floor'
  | 'count-floor'
  | 'honest-http'
  | 'honest-ws';

/** Starts a floor. */
export function startFloor(program: FloorProgram): Promise<Server> {
  return Server.start('the floor', new URL(`../servers/${program}.ts`, import.meta.url));
}

/** Starts a service or a floor whose promises and bytes can be counted. */
export function startCounted(program: 'service' | FloorProgram): Promise<Server> {
  return Server.startCounted(program, new URL(`../servers/${program}.ts`, import.meta.url));
}

/** Starts a server of Chat Completions and of the Responses API. */
export function startUpstream(): Promise<Server> {
  return Server.start('the upstream', new URL('../servers/upstream.ts', import.meta.url));
}

/** Starts a collector of traces. */
export function startCollector(): Promise<Server> {
  return Server.start('the collector', new URL('../servers/collector.ts', import.meta.url));
}

/** A bare relay: before Chat Completions, and before the Responses API over SSE or WebSocket. */
export type RelayProgram = 'relay' | 'responses-relay' | 'socket-relay';

/** Starts the floor in front of an upstream. */
export function startRelay(upstream: Server, program: RelayProgram): Promise<Server> {
  return Server.start('the relay', new URL(`../servers/${program}.ts`, import.meta.url), { UPSTREAM: upstream.origin });
}

/** Starts the built service in front of an upstream, with these settings of the provider. */
export async function startServiceBefore(
  upstream: Server,
  provider: object,
  environment: Readonly<Record<string, string>> = { STATE: 'memory' },
): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
  const file = join(folder, 'providers.json');
  try {
    await writeFile(
      file,
      JSON.stringify({
        providers: { upstream: { base_url: `${upstream.origin}/v1`, discover: false, ...provider } },
        models: [{ prefix: MODEL_PREFIX, provider: 'upstream' }],
      }),
    );
    return await startBuiltService({ ...environment, PROVIDERS_FILE: file });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts a saver that uses the service's store. */
export function startStoreSaver(databaseUrl: string): Promise<Saver> {
  return startSaver('the store', 'store', databaseUrl);
}

/** Starts the floor of the saver. */
export function startFloorSaver(databaseUrl: string): Promise<Saver> {
  return startSaver('the floor', 'floor', databaseUrl);
}

function startSaver(name: string, program: string, databaseUrl: string): Promise<Saver> {
  const environment = { STATE: 'postgres', DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE, LOG_LEVEL: 'error' };
  return Saver.start(name, new URL(`../savers/${program}.ts`, import.meta.url), environment);
}
