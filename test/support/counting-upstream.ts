import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request for a count. */
export interface CountCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer: a status with a JSON body, or with a text of its own, such as an event stream. `hang` never comes. */
export type CountReply = 'hang' | { readonly status?: number; readonly body: object | string; readonly type?: string };

/** A server that is asked for counts, and answers what a test tells it to. */
export class CountingUpstream implements AsyncDisposable {
  /** Oldest first. */
  readonly calls: CountCall[] = [];
  /** Resolves when the first client that waited for a `hang` has left. */
  readonly left = Promise.withResolvers<undefined>();
  readonly asked = Promise.withResolvers<undefined>();
  /** Answers the next requests, one each; the last one answers all that follow. */
  replies: readonly CountReply[] = [{ body: { object: 'response.input_tokens', input_tokens: 1234 } }];
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as CountCall['body'];
      this.calls.push({ path: request.url ?? '', headers: request.headers, body });
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

  /** Starts one on a free port of the loopback interface. */
  static async start(): Promise<CountingUpstream> {
    const upstream = new CountingUpstream();
    upstream.server.listen(0, '127.0.0.1');
    await once(upstream.server, 'listening');
    return upstream;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Closes every connection and refuses new ones. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
