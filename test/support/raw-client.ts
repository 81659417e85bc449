import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as openRequest } from 'node:http';

/** A request as a test words it: nothing is added that HTTP does not need. */
export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A whole answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** An answer whose head is there and whose body is still coming. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Resolves with everything so far as soon as it holds `text`; rejects when the answer ends without it. */
  until(text: string): Promise<string>;
  /** Resolves with the whole body; rejects when the connection broke first. */
  readonly whole: Promise<string>;
  /** Goes away without a word, as a client that crashed. */
  vanish(): void;
}

/** A client over `node:http` that shows answers as they are on the wire. Connections are kept until it is closed. */
export class RawClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 16 });
  /** Answers so far. */
  answers = 0;

  constructor(
    private readonly port: number,
    private readonly host = '127.0.0.1',
    /** The address that its connections come from; any by default. */
    private readonly localAddress?: string,
  ) {}

  /** Sends a request and waits for the end of its answer. */
  async send(request: RawRequest): Promise<RawAnswer> {
    const message = await this.exchange(request);
    message.setEncoding('utf8');
    let text = '';
    for await (const chunk of message) text += chunk as string;
    this.answers += 1;
    return { status: message.statusCode ?? 0, headers: message.headers, text };
  }

  /** Posts a JSON text to `/v1/responses`. */
  post(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
    return this.send({
      method: 'POST',
      path: '/v1/responses',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  }

  /** Sends a request and waits for the head of its answer only. */
  async open(request: RawRequest): Promise<OpenAnswer> {
    const message = await this.exchange(request);
    message.setEncoding('utf8');
    let text = '';
    let notice = Promise.withResolvers<undefined>();
    message.on('data', (chunk: string) => {
      text += chunk;
      notice.resolve(undefined);
      notice = Promise.withResolvers();
    });
    const whole = once(message, 'end').then(() => text);
    whole.catch(() => undefined);
    return {
      status: message.statusCode ?? 0,
      headers: message.headers,
      whole,
      until: async (wanted) => {
        while (!text.includes(wanted)) {
          const ended = await Promise.race([notice.promise, whole]);
          if (ended !== undefined && !ended.includes(wanted)) throw new Error(`ended without '${wanted}': ${ended}`);
        }
        return text;
      },
      vanish: () => void message.destroy(),
    };
  }

  /** Opens a stream of a turn. */
  stream(members: object, headers: Readonly<Record<string, string>> = {}): Promise<OpenAnswer> {
    return this.open({
      method: 'POST',
      path: '/v1/responses',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'gpt-4.1', input: 'Tell me something.', stream: true, ...members }),
    });
  }

  /** Closes every connection. */
  close(): void {
    this.agent.destroy();
  }

  private exchange({ method = 'GET', path = '/', headers, body }: RawRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { agent, port, host, localAddress } = this;
      // Node would send the body of a GET without saying that there is one.
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = openRequest(
        { agent, port, host, localAddress, method, path, headers: { ...length, ...headers } },
        resolve,
      );
      request.once('error', reject);
      request.end(body);
    });
  }
}
