import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';

import { ModelError } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { anthropic, BEHIND_KEY, HELLO } from './anthropic.js';

const service = useService(BEHIND_KEY);
const client = (options: object = {}): Anthropic => anthropic(service, options);

describe('an error', () => {
  it.each([
    ['rate_limit_exceeded', 429, 'rate_limit_error'],
    ['server_is_overloaded', 529, 'overloaded_error'],
    ['server_error', 500, 'api_error'],
  ] as const)('of the model, %s, has status %i and the type %s', async (code, status, type) => {
    const failing = async function* (): AsyncGenerator<never> {
      throw new ModelError(code, 'Not now.', { status: status === 529 ? 503 : status, retryAfterMs: 7000 });
    };
    service.provider.play(failing).play(failing);
    for (const stream of [false, true]) {
      const refusal: unknown = await client()
        .messages.create({ ...HELLO, stream })
        .catch((error: unknown) => error);
      if (!(refusal instanceof Anthropic.APIError)) throw new Error('it was not refused');
      expect([refusal.status, refusal.error]).toMatchObject([status, { type: 'error', error: { type } }]);
    }
  });

  it.each([
    ['x-api-key', { apiKey: 'wrong' }],
    ['authorization', { apiKey: null, authToken: 'wrong' }],
  ])('says that the key in %s is wrong', async (_, options) => {
    const refused = client(options).messages.create(HELLO);
    await expect(refused).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  it('is not made of a right key in authorization', async () => {
    const message = await client({ apiKey: null, authToken: 'key-of-acme' }).messages.create(HELLO);
    expect(message.content).toMatchObject([{ text: 'ok' }]);
  });

  it('says in its own form that the body is no JSON', async () => {
    const response = await fetch(`${service.baseURL}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-acme' },
      body: '{',
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }]);
  });
});

describe('the models', () => {
  it('are listed in the form of their client', async () => {
    const page = await client().models.list();
    const model = { type: 'model', id: 'scripted', display_name: 'scripted', created_at: '2026-01-01T00:00:00.000Z' };
    expect(page.data).toMatchObject([model]);
    await expect(client().models.retrieve('scripted')).resolves.toMatchObject(model);
    const ours = await service.client({ apiKey: 'key-of-acme' }).models.list();
    expect(ours.data).toMatchObject([{ object: 'model', id: 'scripted' }]);
  });
});
