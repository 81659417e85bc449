import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What was asked for. */
export interface EmbeddingCall {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Readonly<{ model: string; input: readonly unknown[]; dimensions?: number; encoding_format?: string }>;
}

/** A server of embeddings, whose vectors tell the length of each input and its place in the request. */
export class EmbeddingUpstream {
  readonly calls: EmbeddingCall[] = [];
  /** Statuses of the next answers, before those that succeed. */
  failures: number[] = [];
  /** Whether it knows Base64; other servers send lists of numbers, whatever they are asked for. */
  knowsBase64 = true;
  /** The last number of each list of numbers. */
  last = 0.5;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<EmbeddingUpstream> {
    const server = createServer();
    const upstream = new EmbeddingUpstream(server);
    server.on('request', (request, response) => {
      void (async () => {
        const parts: Buffer[] = [];
        for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
        response.setHeader('content-type', 'application/json');
        if (request.method !== 'POST') {
          response.end(JSON.stringify({ object: 'list', data: [] }));
          return;
        }
        const body = JSON.parse(Buffer.concat(parts).toString()) as EmbeddingCall['body'];
        upstream.calls.push({ url: request.url, authorization: request.headers.authorization, body });
        const { status, answer } = upstream.answer(body);
        response.statusCode = status;
        response.end(JSON.stringify(answer));
      })();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private answer({ input, encoding_format: format }: EmbeddingCall['body']): { status: number; answer: object } {
    const status = this.failures.shift();
    if (status !== undefined) return { status, answer: { error: { message: 'It says no.', code: null } } };
    const data = input.map((text, index) => {
      const vector = Float32Array.of((text as string | readonly number[]).length, index, 0.5);
      const encoded = Buffer.from(vector.buffer).toString('base64');
      const embedding = format === 'base64' && this.knowsBase64 ? encoded : [...vector.subarray(0, 2), this.last];
      return { object: 'embedding', index, embedding };
    });
    // Its order is not that of the inputs.
    return { status: 200, answer: { data: data.reverse(), usage: { prompt_tokens: input.length, total_tokens: 1 } } };
  }
}
