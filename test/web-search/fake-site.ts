import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A page: HTML, or how a request is answered. */
export type FakePage = string | ((request: IncomingMessage, answer: ServerResponse) => void);

/** A site of pages by their paths, on a free port of this machine. */
export class FakeSite {
  /** The paths that were asked for, the first first. */
  readonly requests: string[] = [];

  private constructor(
    readonly pages: Record<string, FakePage>,
    private readonly server: Server,
  ) {}

  static async start(pages: Record<string, FakePage>): Promise<FakeSite> {
    const server = createServer();
    const site = new FakeSite(pages, server);
    server.on('request', (request: IncomingMessage, answer: ServerResponse) => site.respond(request, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private respond(request: IncomingMessage, answer: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    const page = this.pages[path];
    if (page === undefined) answer.writeHead(404).end();
    else if (typeof page === 'function') page(request, answer);
    else answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
  }
}
