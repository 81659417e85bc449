import { Server } from '../processes/server.ts';

/** Starts the service as it is built, with its simulator. */
export function startBuiltService(): Promise<Server> {
  return Server.start('the service', new URL('../../dist/main.js', import.meta.url));
}

/** Starts the service with a model that writes the traffic a request asks for. */
export function startService(): Promise<Server> {
  return Server.start('the service', new URL('../servers/service.ts', import.meta.url));
}

/** Starts the floor of SSE. */
export function startFloor(): Promise<Server> {
  return Server.start('the floor', new URL('../servers/floor.ts', import.meta.url));
}
