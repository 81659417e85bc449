import { createServer, type IncomingHttpHeaders } from 'node:http';
import { json } from 'node:stream/consumers';

import { LocalServer } from '../support/local-server.js';

/** A request for a count. */
export interface CountCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer: a status with a JSON body, or with a text of its own, such as an event stream. `hang` never comes. */
export type CountReply = 'hang' | { readonly status?: number; readonly body: object | string; readonly type?: string };

/** A server that is asked for counts, and answers what a test tells it to. */
export class CountingUpstream extends LocalServer {
  /** Oldest first. */
  readonly calls: CountCall[] = [];
  /** Resolves when the first client that waited for a `hang` has left. */
  readonly left = Promise.withResolvers<undefined>();
  readonly asked = Promise.withResolvers<undefined>();
  /** Answers the next requests, one each; the last one answers all that follow. */
  replies: readonly CountReply[] = [{ body: { object: 'response.input_tokens', input_tokens: 1234 } }];

  constructor() {
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      void json(request).then((body) => {
        this.calls.push({ path: request.url ?? '', headers: request.headers, body: body as CountCall['body'] });
        const [reply = 'hang', ...others] = this.replies;
        if (others.length > 0) this.replies = others;
        this.asked.resolve(undefined);
        if (reply === 'hang') {
          response.once('close', () => this.left.resolve(undefined));
          return;
        }
        const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
        response.writeHead(reply.status ?? 200, { 'content-type': reply.type ?? 'application/json' }).end(text);
      });
    });
    super(server);
  }

  /** Starts one. */
  static start(): Promise<CountingUpstream> {
    return new CountingUpstream().listen();
  }
}
