import { createHash } from 'node:crypto';

import { beforeAll, describe, expect, it } from '@jest/globals';
import { AuthenticationError } from 'openai';

import { ModelProvider } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { type Expected, MINIMAL, REFUSED, THROWN } from './refusals.js';

/** Serves the model `only` and no other. */
@ModelProvider('picky')
class PickyProvider extends ScriptedProvider {
  override find(model: string): ReturnType<ScriptedProvider['find']> {
    return model === 'only' ? super.find(model) : (undefined as never);
  }

  override async models(): Promise<readonly ReturnType<ScriptedProvider['find']>[]> {
    return [super.find('only')];
  }
}

describe.each([false, true])('errors with stream: %s', (stream) => {
  const service = useService(async () => {
    const digest = createHash('sha256').update('sk-hashed').digest('hex');
    return startService({
      providers: [PickyProvider],
      environment: { UNKNOWN_PARAMETERS: 'reject', API_KEYS: `one:sk-plain,two:sha256:${digest}` },
    });
  });
  let provider: PickyProvider;

  beforeAll(() => {
    provider = service.app.get(PickyProvider);
  });

  /** The same fault for the SDK and for a client that looks at the wire. */
  const expectError = async (
    body: object,
    expected: Expected,
    prepare: () => unknown = () => null,
  ): Promise<Headers> => {
    prepare();
    const client = service.client({ apiKey: 'sk-plain' });
    const thrown = await client.responses.create({ ...body, stream } as never).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(expected.error);
    expect(thrown).toMatchObject({ status: expected.status, code: expected.code });
    prepare();
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-hashed' },
      body: JSON.stringify({ ...body, stream }),
    });
    expect(answer.status).toBe(expected.status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { type = 'invalid_request_error', code, param, message } = expected;
    expect(await answer.json()).toEqual({ error: { type, code, param: matching(param), message: matching(message) } });
    return answer.headers;
  };

  it.each(REFUSED)('the service refuses %s', async (_, body, expected) => {
    await expectError(body, expected);
    expect(provider.turns).toHaveLength(0);
  });

  it.each(THROWN)(
    'the service passes on %s that the model throws before its first yield',
    async (_, thrown, expected) => {
      const headers = await expectError(MINIMAL, expected, () =>
        provider.play(() => {
          throw thrown();
        }),
      );
      expect(headers.get('retry-after')).toBe(expected.status === 429 ? '2' : null);
      provider.turns.length = 0;
    },
  );

  it.each([
    ['no key', {}, null, /^Missing bearer/],
    ['an empty key', { authorization: 'Bearer ' }, null, /^Missing bearer authentication in header\.$/],
    ['a key alone', { authorization: 'sk-plain' }, null, /^Missing bearer .* does not begin with 'Bearer'\.$/],
    [
      'another scheme',
      { authorization: 'Basic c2stcGxhaW4=' },
      null,
      /^Missing bearer .* does not begin with 'Bearer'\.$/,
    ],
    ['a wrong key', { authorization: 'Bearer sk-wrong' }, 'invalid_api_key', /^Incorrect API key/],
    ['the tenant as key', { authorization: 'Bearer one' }, 'invalid_api_key', /^Incorrect API key/],
    [
      'the digest as key',
      { authorization: `Bearer sha256:${createHash('sha256').update('sk-hashed').digest('hex')}` },
      'invalid_api_key',
      /^Incorrect API key/,
    ],
  ])('the service refuses %s', async (_, headers, code, message) => {
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
      body: JSON.stringify({ ...MINIMAL, stream }),
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    const type = 'invalid_request_error';
    expect(await answer.json()).toEqual({ error: { type, code, param: null, message: matching(message) } });
  });

  it('the service lets the SDK see a wrong key as what it is', async () => {
    const client = service.client({ apiKey: 'sk-wrong' });
    const refused = client.responses.create({ ...MINIMAL, stream });
    await expect(refused).rejects.toBeInstanceOf(AuthenticationError);
    await expect(client.models.list()).rejects.toBeInstanceOf(AuthenticationError);
  });
});

function matching(expected: string | RegExp | null): unknown {
  return expected instanceof RegExp ? expect.stringMatching(expected) : expected;
}
