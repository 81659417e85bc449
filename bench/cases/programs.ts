import { Saver } from '../processes/saver.ts';
import { Server } from '../processes/server.ts';

/** Connections of a program that saves: the service's default. */
const DATABASE_POOL_SIZE = '10';

/** Starts the service as it is built, with its simulator. */
export function startBuiltService(): Promise<Server> {
  return Server.start('the service', new URL('../../dist/main.js', import.meta.url));
}

/** Starts the service with a model that writes the traffic a request asks for. */
export function startService(environment?: Readonly<Record<string, string>>): Promise<Server> {
  return Server.start('the service', new URL('../servers/service.ts', import.meta.url), environment);
}

/** Starts the floor of SSE. */
export function startFloor(): Promise<Server> {
  return Server.start('the floor', new URL('../servers/floor.ts', import.meta.url));
}

/** Starts what saves through the service's store. */
export function startStoreSaver(databaseUrl: string): Promise<Saver> {
  return startSaver('the store', 'store', databaseUrl);
}

/** Starts the floor of saving. */
export function startFloorSaver(databaseUrl: string): Promise<Saver> {
  return startSaver('the floor', 'floor', databaseUrl);
}

function startSaver(name: string, program: string, databaseUrl: string): Promise<Saver> {
  const environment = { STATE: 'postgres', DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE, LOG_LEVEL: 'error' };
  return Saver.start(name, new URL(`../savers/${program}.ts`, import.meta.url), environment);
}
