import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { Authenticator } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { LocalServer } from '../support/local-server.js';
import { startService } from '../support/service.js';

/** What was asked for. */
interface EmbeddingCall {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Readonly<{ model: string; input: readonly unknown[]; dimensions?: number; encoding_format?: string }>;
}

/** A server of embeddings, whose vectors tell the length of each input and its place in the request. */
class EmbeddingUpstream extends LocalServer {
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

describe('embeddings of upstreams', () => {
  let upstream: EmbeddingUpstream;
  let directory: string;
  const service = useService(async () => {
    upstream = await EmbeddingUpstream.start();
    directory = await mkdtemp(join(tmpdir(), 'antiphon-embeddings-'));
    const path = join(directory, 'providers.json');
    const server = { base_url: upstream.baseUrl, api_key: 'secret-of-upstream' };
    const providers = {
      first: { ...server, embeddings: { models: ['minilm'], batch: 2 } },
      second: { ...server, kind: 'responses', embeddings: { models: ['minilm', 'other'] } },
    };
    const models = [{ name: 'alias', provider: 'second', model: 'bge' }];
    await writeFile(path, JSON.stringify({ providers, models }));
    return startService({
      environment: { PROVIDERS_FILE: path },
      overrides: [[Authenticator, new OneModelAuthenticator()]],
    });
  });

  afterAll(async () => {
    await upstream.close();
    await rm(directory, { recursive: true, force: true });
  });

  beforeEach(() => {
    upstream.calls.length = 0;
    upstream.failures = [];
    upstream.knowsBase64 = true;
    upstream.last = 0.5;
  });

  it('embeddings are asked for in batches, and keep the order of the inputs', async () => {
    const input = ['a', 'bb', 'ccc', 'dddd', 'eeeee'];
    const { data, usage } = await service.client().embeddings.create({ model: 'minilm', input });
    expect(data.map(({ index, embedding }) => [index, embedding[0]])).toEqual(input.map((_, at) => [at, at + 1]));
    expect(usage.prompt_tokens).toBe(5);
    expect(upstream.calls.map(({ body }) => body.input.length).sort()).toEqual([1, 2, 2]);
    expect(upstream.calls[0]).toMatchObject({ url: '/v1/embeddings', authorization: 'Bearer secret-of-upstream' });
  });

  it('embeddings are read as lists, where a server does not know Base64', async () => {
    upstream.knowsBase64 = false;
    const { data } = await service.client().embeddings.create({ model: 'alias', input: [[1, 2, 3]], dimensions: 3 });
    expect(data[0]?.embedding).toEqual([3, 0, 0.5]);
    expect(upstream.calls[0]?.body).toMatchObject({ model: 'bge', input: [[1, 2, 3]], dimensions: 3 });
  });

  it('embeddings are asked for again after a failure, at the other server of the model', async () => {
    upstream.failures = [503];
    const { data } = await service.client().embeddings.create({ model: 'minilm', input: 'a' });
    expect([data.length, upstream.calls.length]).toEqual([1, 2]);
  });

  it('embeddings fail with the words of the server where no retry helps', async () => {
    upstream.failures = [400];
    const answer = await service.api.post('embeddings', { model: 'other', input: 'a' });
    expect([answer.status, answer.body['error']]).toMatchObject([
      400,
      { message: 'The model rejected this request: It says no.' },
    ]);
    expect(upstream.calls).toHaveLength(1);
  });

  it('embeddings with a number that no float can have are refused as an answer that lacks them', async () => {
    [upstream.knowsBase64, upstream.last] = [false, 1e39];
    const answer = await service.api.post('embeddings', { model: 'other', input: 'a' });
    expect(answer.status).toBeGreaterThanOrEqual(500);
  });

  it('embeddings exist only for models that the file has, and the key may use', async () => {
    const unknown = await service.api.post('embeddings', { model: 'minilmm', input: 'a' });
    expect([unknown.status, unknown.body['error']]).toMatchObject([404, { code: 'model_not_found' }]);
    const api = service.api.with({ authorization: 'Bearer other' });
    const refused = await api.post('embeddings', { model: 'minilm', input: 'a' });
    expect([refused.status, refused.body['error']]).toMatchObject([403, { code: 'model_not_allowed' }]);
    expect(upstream.calls).toHaveLength(0);
  });

  it('models for embeddings are listed with the models', async () => {
    const ids = (await service.client().models.list()).data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['alias', 'minilm', 'other']));
  });
});

/** The key `other` may use one model. */
class OneModelAuthenticator extends Authenticator {
  override authenticate(headers: Readonly<Record<string, unknown>>): ReturnType<Authenticator['authenticate']> {
    const tenant = asTenant('tests');
    return String(headers['authorization']).endsWith('other') ? { tenant, models: ['other'] } : { tenant };
  }
}
