import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

// Below the ports that systems hand out by themselves.
const PORTS = [15_000, 32_768] as const;
const ATTEMPTS = 5;

/**
 * Listens, by the given function, on some free port of the loopback interface. Unlike one that the system picks, nobody
 * else is given this port while what listens on it is down, so it can come back on it. `npm run chaos` uses it with Node
 * alone, so this file imports no other of the tests.
 */
export async function onStablePort<Result>(listen: (port: number) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listen(randomInt(...PORTS));
    } catch (error) {
      if (attempt === ATTEMPTS || !/EADDRINUSE|Address already in use/.test(String(error))) throw error;
    }
  }
}

/**
 * The first of so many neighbouring ports of 127.0.0.1 on which nobody listens, and that nobody else is given meanwhile:
 * connections are refused.
 */
export function freePort(count = 1): Promise<number> {
  return onStablePort(async (port) => {
    const servers: Server[] = [];
    try {
      while (servers.length < count) {
        const server = createServer().listen(port + servers.length, '127.0.0.1');
        await once(server, 'listening');
        servers.push(server);
      }
      return port;
    } finally {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    }
  });
}
