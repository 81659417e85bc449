import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { resultsOf } from '../support/usage.js';

const MODEL = 'text-embedding-3-small';

describe('embeddings of the simulator', () => {
  const service = useService({ environment: { LIMIT_REQUESTS_PER_MINUTE: 1000, METRICS: true } });

  const embed = async (input: string[], dimensions?: number): Promise<number[][]> => {
    const asked = { model: MODEL, input, ...(dimensions === undefined ? {} : { dimensions }) };
    return (await service.client().embeddings.create(asked)).data.map(({ embedding }) => embedding);
  };

  it('embeddings are near for texts with the same words, and the same each time', async () => {
    const texts = ['the cat sat on the mat', 'a cat sat on a mat', 'quarterly revenue grew by nine percent'];
    const [cat = [], other = [], revenue = []] = await embed(texts);
    const [again] = await embed(texts);
    expect(again).toEqual(cat);
    expect(cosine(cat, cat)).toBeCloseTo(1, 5);
    expect(cosine(cat, other)).toBeGreaterThan(cosine(cat, revenue) + 0.3);
  });

  it('embeddings have the dimensions of the model, or those that are asked for', async () => {
    expect((await embed(['Hi']))[0]).toHaveLength(1536);
    expect((await embed(['Hi'], 17))[0]).toHaveLength(17);
  });

  it('embeddings come as numbers and as Base64 of the same floats', async () => {
    const asked = { model: MODEL, input: 'Hi', dimensions: 8 };
    const plain = await service.api.post('embeddings', asked);
    const encoded = await service.api.post('embeddings', { ...asked, encoding_format: 'base64' });
    const [numbers, base64] = [plain, encoded].map(
      ({ body }) => (body['data'] as readonly { readonly embedding: unknown }[])[0]?.embedding,
    );
    const bytes = Buffer.from(base64 as string, 'base64');
    expect(Array.from({ length: 8 }, (_, index) => bytes.readFloatLE(index * 4))).toEqual(numbers);
    expect(plain.headers.get('x-ratelimit-limit-requests')).toBe('1000');
  });

  it('embeddings take a text, texts, tokens and lists of tokens', async () => {
    for (const [input, count] of [
      ['Hi', 1],
      [['a', 'b'], 2],
      [[1, 2, 3], 1],
      [[[1], [2, 3]], 2],
    ] as const) {
      const { status, body } = await service.api.post('embeddings', { model: MODEL, input, dimensions: 4 });
      expect([status, (body['data'] as readonly unknown[]).length]).toEqual([200, count]);
    }
  });

  it.each([
    [{ model: MODEL }, 400, 'missing_required_parameter', 'input'],
    [{ model: MODEL, input: '' }, 400, 'string_below_min_length', 'input'],
    [{ model: MODEL, input: [] }, 400, 'empty_array', 'input'],
    [{ model: MODEL, input: ['a', 1] }, 400, 'invalid_type', 'input[1]'],
    [{ model: MODEL, input: [[1], []] }, 400, 'empty_array', 'input[1]'],
    [{ model: MODEL, input: [[1], [-1]] }, 400, 'invalid_type', 'input[1][0]'],
    [{ model: MODEL, input: Array.from({ length: 2049 }, () => 'a') }, 400, 'array_above_max_length', 'input'],
    [{ model: MODEL, input: 'a', encoding_format: 'hex' }, 400, 'invalid_value', 'encoding_format'],
    [{ model: MODEL, input: 'a', dimensions: 0 }, 400, 'integer_below_min_value', 'dimensions'],
    [{ model: MODEL, input: 'a', dimensions: 100_000 }, 400, 'invalid_value', 'dimensions'],
  ])('embeddings refuse %j', async (body, status, code, param) => {
    const answer = await service.api.post('embeddings', body);
    expect(answer.status).toBe(status);
    expect(answer.body['error']).toMatchObject({ code, param });
  });

  it('embeddings are counted in metrics', async () => {
    const text = await (await fetch(`${service.origin}/metrics`)).text();
    expect(text).toMatch(
      /antiphon_embedding_requests_total\{model="text-embedding-3-small",provider="simulator",outcome="ok"\} \d/,
    );
    expect(text).toMatch(/antiphon_embedding_tokens_total\{model="text-embedding-3-small",provider="simulator"\} \d/);
  });
});

describe('the quotas and the usage of embeddings', () => {
  const service = useService({ environment: { LIMIT_TOKENS_PER_MINUTE: 10 } });

  it('embeddings count tokens in quotas and usage', async () => {
    const { usage } = await service.client().embeddings.create({ model: MODEL, input: 'one two three four' });
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    const refused = await service.api.post('embeddings', { model: MODEL, input: 'x'.repeat(40) });
    expect([refused.status, refused.body['error']]).toMatchObject([429, { code: 'rate_limit_exceeded' }]);
    const [used] = await resultsOf(service, 1, '?group_by=model');
    expect(used).toMatchObject({ model: MODEL, turns: 1, input_tokens: 4, output_tokens: 0 });
  });
});

function cosine(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
