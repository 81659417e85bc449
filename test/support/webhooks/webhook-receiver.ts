import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { LocalServer } from '../local-server.js';

/** A request as an endpoint got it. */
export interface ReceivedWebhook {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How an endpoint answers: with a status, or as the function says, which may leave it open. */
export type WebhookAnswer = number | ((response: ServerResponse) => void);

/** An endpoint for webhooks on this machine. */
export class WebhookReceiver extends LocalServer {
  readonly received: ReceivedWebhook[] = [];
  /** The answers to come; then 204. */
  readonly answers: WebhookAnswer[] = [];
  private arrived = Promise.withResolvers<undefined>();

  constructor() {
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      void text(request).then((body) => {
        const { method, url: path, headers } = request;
        this.received.push({ method, path, headers, body });
        const answer = this.answers.shift() ?? 204;
        if (typeof answer === 'number') response.writeHead(answer).end();
        else answer(response);
        this.arrived.resolve(undefined);
        this.arrived = Promise.withResolvers();
      });
    });
    super(server);
  }

  static open(): Promise<WebhookReceiver> {
    return new WebhookReceiver().listen();
  }

  /** The request number `index`, from 0. Throws when it has not come. */
  request(index: number): ReceivedWebhook {
    const received = this.received[index];
    if (received === undefined) throw new Error(`request ${index} has not come`);
    return received;
  }

  /** With a path, and a query that is nobody else's business. */
  get url(): string {
    return `${this.origin}/hooks?token=token-of-the-url`;
  }

  /** Resolves when the next request has arrived, and is answered or left open. */
  get next(): Promise<undefined> {
    return this.arrived.promise;
  }
}
