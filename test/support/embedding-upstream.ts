import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

import { LocalServer } from './local-server.js';

/** What was asked for. */
export interface EmbeddingCall {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Readonly<{ model: string; input: readonly unknown[]; dimensions?: number; encoding_format?: string }>;
}

/** A server of embeddings, whose vectors tell the length of each input and its place in the request. */
export class EmbeddingUpstream extends LocalServer {
  readonly calls: EmbeddingCall[] = [];
  /** Statuses of the next answers, before those that succeed. */
  failures: number[] = [];
  /** Whether it knows Base64; other servers send lists of numbers, whatever they are asked for. */
  knowsBase64 = true;
  /** The last number of each list of numbers. */
  last = 0.5;

  constructor() {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.method !== 'POST') {
        response.end(JSON.stringify({ object: 'list', data: [] }));
        return;
      }
      void json(request).then((read) => {
        const body = read as EmbeddingCall['body'];
        this.calls.push({ url: request.url, authorization: request.headers.authorization, body });
        const status = this.failures.shift();
        const failure = { error: { message: 'It says no.', code: null } };
        response.statusCode = status ?? 200;
        response.end(JSON.stringify(status === undefined ? this.answer(body) : failure));
      });
    });
    super(server);
  }

  static start(): Promise<EmbeddingUpstream> {
    return new EmbeddingUpstream().listen();
  }

  private answer({ input, encoding_format: format }: EmbeddingCall['body']): object {
    const data = input.map((text, index) => {
      const vector = Float32Array.of((text as string | readonly number[]).length, index, 0.5);
      const encoded = Buffer.from(vector.buffer).toString('base64');
      const embedding = format === 'base64' && this.knowsBase64 ? encoded : [...vector.subarray(0, 2), this.last];
      return { object: 'embedding', index, embedding };
    });
    // Its order is not that of the inputs.
    return { data: data.reverse(), usage: { prompt_tokens: input.length, total_tokens: 1 } };
  }
}
