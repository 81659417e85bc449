import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that has arrived. */
interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** An engine over HTTP that answers with the same JSON, and keeps what it was asked. */
export class FakeApi {
  readonly asked: Asked[] = [];
  answer: unknown = {};

  private constructor(private readonly server: Server) {}

  static async start(): Promise<FakeApi> {
    const server = createServer();
    const api = new FakeApi(server);
    server.on('request', (request: IncomingMessage, answer) => {
      void text(request).then((body) => {
        const { pathname, searchParams } = new URL(request.url ?? '', api.url);
        const { method, headers } = request;
        const query = Object.fromEntries(searchParams);
        api.asked.push({ method, path: pathname, query, headers, body: body === '' ? null : JSON.parse(body) });
        answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(api.answer));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/base/`;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
