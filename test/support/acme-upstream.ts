import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What it says when it fails; no client of ours may see it. */
export const ACME_SECRET = 'the key sk-acme is known at http://acme.internal';

/** Questions that it does not simply answer. */
export const ASK_TO_HANG = 'Say nothing more.';
export const ASK_TO_FAIL = 'Fail.';

/** The made-up upstream of docs/extending.md: it takes items and streams a plain text about them. */
export class AcmeUpstream implements AsyncDisposable {
  private readonly server = createServer(
    { keepAliveTimeout: 0 },
    (request, response) => void this.answer(request, response),
  );
  private hung = Promise.withResolvers<undefined>();
  private left = Promise.withResolvers<undefined>();

  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The next request that hangs: when it does, and when its client has gone. */
  nextHang(): { readonly reached: Promise<unknown>; readonly released: Promise<unknown> } {
    this.hung = Promise.withResolvers();
    this.left = Promise.withResolvers();
    return { reached: this.hung.promise, released: this.left.promise };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (body.includes(ASK_TO_FAIL)) {
      response.writeHead(500).end(ACME_SECRET);
      return;
    }
    response.write('You said: ');
    if (body.includes(ASK_TO_HANG)) {
      response.once('close', () => this.left.resolve(undefined));
      this.hung.resolve(undefined);
      return;
    }
    response.end([...body.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join(' '));
  }
}
