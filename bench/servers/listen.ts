import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on HOST and PORT, and writes the line that the benchmark waits for. */
export function listen(server: Server, name: string): void {
  server.listen(Number(process.env.PORT), process.env.HOST, () => {
    const { address, port } = server.address() as AddressInfo;
    process.stdout.write(`${name} listens on http://${address}:${port}\n`);
  });
}
