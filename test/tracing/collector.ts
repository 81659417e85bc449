import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A collector of traces and metrics on this machine, which keeps what it is sent. */
export class Collector implements AsyncDisposable {
  /** The bodies of all requests, as they came. */
  readonly bodies: Buffer[] = [];
  /** Where they were sent. */
  readonly paths: string[] = [];
  status = 200;
  private waiting: (() => void) | null = null;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer({ keepAliveTimeout: 0 });
    const collector = new Collector(server);
    server.on('request', (request, reply) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        collector.bodies.push(Buffer.concat(chunks));
        collector.paths.push(request.url ?? '');
        collector.waiting?.();
        reply.writeHead(collector.status).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when so many requests have come. */
  async received(requests = 1): Promise<void> {
    while (this.bodies.length < requests) await new Promise<void>((resolve) => (this.waiting = resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
