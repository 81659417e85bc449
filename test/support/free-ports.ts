import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

import { onStablePort } from './stable-port.js';

/** The first of so many neighbouring ports of 127.0.0.1 that are free, and that nobody else is given meanwhile. */
export function freePorts(count = 1): Promise<number> {
  return onStablePort(async (port) => {
    const servers: Server[] = [];
    try {
      while (servers.length < count) servers.push(await listen(port + servers.length));
      return port;
    } finally {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    }
  });
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
