import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as an endpoint got it. */
export interface ReceivedWebhook {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How an endpoint answers: with a status, or as the function says, which may leave it open. */
export type WebhookAnswer = number | ((response: ServerResponse) => void);

/** An endpoint for webhooks on this machine. `npm run chaos` runs it with Node alone, so it imports no other file of the tests. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: ReceivedWebhook[] = [];
  /** The answers to come; then 204. */
  readonly answers: WebhookAnswer[] = [];
  /** Connections that it has accepted. */
  connections = 0;
  private arrived = Promise.withResolvers<undefined>();
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      this.received.push({ method, path, headers, body: Buffer.concat(pieces).toString() });
      const answer = this.answers.shift() ?? 204;
      if (typeof answer === 'number') response.writeHead(answer).end();
      else answer(response);
      this.arrived.resolve(undefined);
      this.arrived = Promise.withResolvers();
    });
  });

  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.server.on('connection', () => (receiver.connections += 1));
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The request number `index`, from 0. Throws when it has not come. */
  request(index: number): ReceivedWebhook {
    const received = this.received[index];
    if (received === undefined) throw new Error(`request ${index} has not come`);
    return received;
  }

  /** With a path, and a query that is nobody else's business. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/hooks?token=token-of-the-url`;
  }

  /** Resolves when the next request has arrived, and is answered or left open. */
  get next(): Promise<undefined> {
    return this.arrived.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
