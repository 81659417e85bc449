import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { LocalServer } from '../support/local-server.js';

/** A request that has arrived. */
interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** An engine over HTTP that answers with the same JSON, and keeps what it was asked. */
export class FakeApi extends LocalServer {
  readonly asked: Asked[] = [];
  answer: unknown = {};

  private constructor() {
    super(createServer((request, response) => void this.respond(request, response)));
  }

  static start(): Promise<FakeApi> {
    return new FakeApi().listen();
  }

  get url(): string {
    return `${this.origin}/base/`;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    const { method, headers } = request;
    const query = Object.fromEntries(searchParams);
    this.asked.push({ method, path: pathname, query, headers, body: body === '' ? null : JSON.parse(body) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.answer));
  }
}
