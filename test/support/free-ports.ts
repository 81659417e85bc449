import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** The first of so many neighbouring ports of 127.0.0.1 that are free. */
export async function freePorts(count = 1): Promise<number> {
  for (;;) {
    const servers = [await listen(0)];
    const { port } = servers[0]?.address() as AddressInfo;
    try {
      while (servers.length < count) servers.push(await listen(port + servers.length));
      return port;
    } catch {
      // A neighbour is taken.
    } finally {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    }
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
