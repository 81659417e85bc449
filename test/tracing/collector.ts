import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { LocalServer } from '../support/local-server.js';
import { Notifier } from '../support/notifier.js';

/** A collector of traces and metrics on this machine, which keeps what it is sent. */
export class Collector extends LocalServer {
  /** The bodies of all requests, as they came. */
  readonly bodies: Buffer[] = [];
  /** Where they were sent. */
  readonly paths: string[] = [];
  status = 200;
  /** Whether it answers. */
  isSilent = false;
  private readonly changes = new Notifier();

  private constructor() {
    const server = createServer({ keepAliveTimeout: 0 }, (request, reply) => {
      void buffer(request).then((body) => {
        this.bodies.push(body);
        this.paths.push(request.url ?? '');
        this.changes.notify();
        if (!this.isSilent) reply.writeHead(this.status).end();
      });
    });
    super(server);
  }

  static start(): Promise<Collector> {
    return new Collector().listen();
  }

  get url(): string {
    return this.origin;
  }

  /** Resolves when so many requests have come. */
  async received(requests = 1): Promise<void> {
    await this.changes.until(() => this.bodies[requests - 1]);
  }
}
