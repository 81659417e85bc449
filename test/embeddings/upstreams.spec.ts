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
  /** Answers in place of the server: a status and a body, or undefined to leave the request to it. */
  behaviour: ((body: EmbeddingCall['body']) => readonly [number, unknown] | undefined) | null = null;

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
        const answered = this.behaviour?.(body);
        if (answered !== undefined) {
          const [status, value] = answered;
          response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
          return;
        }
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
      small: { ...server, embeddings: { models: ['small', 'smaller', 'large'] } },
      plain: { ...server, embeddings: { models: ['plain'], batch: 1 } },
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
    upstream.behaviour = null;
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

  const detail = 'batch size 5 > maximum allowed batch size 2';
  it.each<[string, string, number, object]>([
    ['HTTP 422', 'small', 422, { error: detail, error_type: 'Validation' }],
    ['an error with HTTP 200', 'smaller', 200, { error: { code: 400, message: detail } }],
  ])(
    'embeddings are asked for in fewer inputs at once, where a server says with %s that a model takes no more, and in as many from then on',
    async (_name, model, status, refusal) => {
      upstream.behaviour = (body) => (body.model === model && body.input.length > 2 ? [status, refusal] : undefined);
      const input = ['a', 'bb', 'ccc', 'dddd', 'eeeee'];
      const ask = async (asked: string, sent: readonly number[]): Promise<void> => {
        upstream.calls.length = 0;
        const { data, usage } = await service.client().embeddings.create({ model: asked, input });
        expect(data.map(({ index, embedding }) => [index, embedding[0]])).toEqual(input.map((_, at) => [at, at + 1]));
        expect(usage.prompt_tokens).toBe(5);
        expect(upstream.calls.map(({ body }) => body.input.length)).toEqual(sent);
      };
      await ask(model, [5, 3, 2, 1, 2]);
      await ask(model, [2, 2, 1]);
      await ask('large', [5]);
    },
  );

  it('embeddings are asked for in as many inputs as before, where a server has refused one of them and not their number', async () => {
    const error = 'an input of the batch is too large';
    upstream.behaviour = ({ input }) => (input.includes('bad') ? [422, { error }] : undefined);
    const refused = await service.api.post('embeddings', { model: 'large', input: ['a', 'b', 'bad', 'c'] });
    expect(refused.status).toBe(400);
    upstream.calls.length = 0;
    await service.client().embeddings.create({ model: 'large', input: ['a', 'b', 'c', 'd'] });
    expect(upstream.calls).toHaveLength(1);
  });

  it('embeddings are asked for without a name of an encoding, where a server refuses it, from then on', async () => {
    const message = "encoding_format must be 'float'";
    upstream.behaviour = (body) => (body.encoding_format === undefined ? undefined : [400, { error: { message } }]);
    // All at once: each is refused.
    for (const requests of [6, 3]) {
      upstream.calls.length = 0;
      const { data } = await service.client().embeddings.create({ model: 'plain', input: ['abc', 'ab', 'a'] });
      expect(data.map(({ embedding }) => embedding[0])).toEqual([3, 2, 1]);
      expect(upstream.calls).toHaveLength(requests);
    }
  });

  const vectors = (...list: readonly unknown[]): object => ({
    data: list.map((embedding) => ({ index: 0, embedding })),
  });
  it.each<[string, unknown, readonly number[], number]>([
    ['without numbers of their own', { data: [{ embedding: [1] }, { embedding: [2] }] }, [1, 2], 1],
    ['that all have the number 0', vectors([1], [2]), [1, 2], 1],
    ['in lists of one', vectors([[1]], [[2]]), [1, 2], 1],
    ['with a sum of tokens alone', { ...vectors([1], [2]), usage: { total_tokens: 7 } }, [1, 2], 7],
  ])('embeddings are read from an answer %s', async (_name, answer, firsts, tokens) => {
    upstream.behaviour = () => [200, answer];
    const { body } = await service.api.post('embeddings', { model: 'other', input: ['a', 'b'] });
    const data = body['data'] as readonly { readonly embedding: readonly number[] }[];
    expect(data.map(({ embedding: [first] }) => first)).toEqual(firsts);
    expect(body['usage']).toMatchObject({ prompt_tokens: tokens === 1 ? 2 : tokens });
  });

  it.each<[string, unknown, string, number?]>([
    ['no vectors', { data: [] }, '0 vectors for 2 inputs'],
    ['too few vectors', vectors([1]), '1 vectors for 2 inputs'],
    ['null in a vector', vectors([1], [null]), 'has a value that is not a number'],
    ['an empty vector', vectors([1], []), 'has a value that is not a number'],
    ['NaN', '{"data":[{"embedding":[NaN]}]}', 'no JSON object'],
    ['vectors of different lengths', vectors([1], [1, 2]), 'vectors of different lengths'],
    ['a web page', '<!doctype html><title>Log in</title>', 'a web page'],
    ['an error', { error: { message: 'No.', code: 400 } }, 'The model rejected this request: No.', 400],
  ])('embeddings are refused with what came: %s', async (_name, answer, words, status = 502) => {
    upstream.behaviour = () => [200, answer];
    const refused = await service.api.post('embeddings', { model: 'other', input: ['a', 'b'] });
    expect([refused.status, refused.body['error']]).toMatchObject([
      status,
      { message: expect.stringContaining(words) },
    ]);
  });

  it('embeddings are refused whose batches have vectors of different lengths', async () => {
    upstream.behaviour = ({ input }) => [200, { data: input.map(() => ({ embedding: input.map(() => 1) })) }];
    const refused = await service.api.post('embeddings', { model: 'minilm', input: ['a', 'b', 'c'] });
    expect([refused.status, refused.body['error']]).toMatchObject([
      502,
      { message: expect.stringContaining('vectors of different lengths') },
    ]);
  });

  it('embeddings of another length than was asked for are refused', async () => {
    const refused = await service.api.post('embeddings', { model: 'other', input: 'a', dimensions: 2 });
    expect([refused.status, refused.body['error']]).toMatchObject([
      400,
      { param: 'dimensions', message: 'The model gives vectors of 3 numbers, not of 2.' },
    ]);
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
