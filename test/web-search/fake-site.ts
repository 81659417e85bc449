import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { LocalServer } from '../support/local-server.js';

/** A page: HTML, or how a request is answered. */
export type FakePage = string | ((request: IncomingMessage, answer: ServerResponse) => void);

/** A page that answers every request so. */
export function send(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = '',
): Exclude<FakePage, string> {
  return (_, answer) => void answer.writeHead(status, headers).end(body);
}

/** A site of pages by their paths, on a free port of this machine. */
export class FakeSite extends LocalServer {
  /** The paths that were asked for, the first first. */
  readonly requests: string[] = [];

  private constructor(readonly pages: Record<string, FakePage>) {
    super(createServer((request, answer) => this.respond(request, answer)));
  }

  static start(pages: Record<string, FakePage>): Promise<FakeSite> {
    return new FakeSite(pages).listen();
  }

  get url(): string {
    return this.origin;
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
