import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { onStablePort } from '../stable-port.js';

/** A port of the loopback interface on which nobody listens: connections are refused. */
export function closedPort(): Promise<number> {
  return onStablePort(async (port) => {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const { port: free } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return free;
  });
}
