import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { type Service, startService } from '../support/service.js';
import { postJson } from '../support/sse.js';

let service: Service;

async function start(environment: Readonly<Record<string, unknown>>): Promise<void> {
  service = await startService({ environment });
}

async function report(headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const answer = await fetch(`${service.origin}/simulator/stats`, { headers });
  expect(answer.status).toBe(200);
  return answer.json();
}

describe('GET /simulator/stats of two tenants', () => {
  const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
  const as = (tenant: keyof typeof KEYS): Readonly<Record<string, string>> => ({
    authorization: `Bearer ${KEYS[tenant]}`,
  });

  beforeAll(() => start({ API_KEYS: `alice:${KEYS.alice},bob:${KEYS.bob}` }));
  afterAll(() => service.close());

  it('GET /simulator/stats shows each tenant its own turns only', async () => {
    const before = await report(as('bob'));
    expect(before).toMatchObject({ requests: 0 });
    const client = service.client({ apiKey: KEYS.alice });
    const { usage } = await client.responses.create({ model: 'gpt-4.1', input: 'Hello!' });
    expect(await report(as('bob'))).toEqual(before);
    expect(await report(as('alice'))).toMatchObject({
      requests: 1,
      tokens: { input: usage?.input_tokens, output: usage?.output_tokens },
      models: { 'gpt-4.1': { requests: 1 } },
    });
  });

  it.each([
    ['no key', {}],
    ['a wrong key', { authorization: 'Bearer sk-mallory' }],
  ])('GET /simulator/stats is 401 with %s', async (_, headers) => {
    const answer = await fetch(`${service.origin}/simulator/stats`, { headers });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});

describe('where GET /simulator/stats is', () => {
  const { NODE_ENV } = process.env;
  const end = async (): Promise<void> => {
    process.env.NODE_ENV = NODE_ENV;
    await service.close();
  };

  /** All a client can tell of an answer, but for what differs between any two requests. */
  const observe = async (path: string, init: RequestInit): Promise<object> => {
    const answer = await fetch(`${service.origin}${path}`, init);
    const unlike = new Set(['x-request-id', 'date', 'openai-processing-ms', 'content-length']);
    const headers = [...answer.headers].filter(([name]) => !unlike.has(name));
    return { status: answer.status, headers, text: (await answer.text()).replaceAll(path, '<path>') };
  };

  const CALLERS: readonly (readonly [name: string, init: RequestInit])[] = [
    ['with a key', { headers: { authorization: 'Bearer sk-alice' } }],
    ['without one', {}],
    ['with a wrong one', { headers: { authorization: 'Bearer sk-mallory' } }],
    ['with HEAD', { method: 'HEAD', headers: { authorization: 'Bearer sk-alice' } }],
    ['with POST', { method: 'POST', headers: { authorization: 'Bearer sk-alice' } }],
  ];

  describe.each([
    ['SIMULATOR_STATS=false', { SIMULATOR_STATS: 'false' }, 'test'],
    ['SIMULATOR_STATS=false in production', { SIMULATOR_STATS: 'false' }, 'production'],
    ['NODE_ENV=production', {}, 'production'],
  ])('off with %s', (_, environment, nodeEnv) => {
    beforeAll(() => {
      process.env.NODE_ENV = nodeEnv;
      return start({ API_KEYS: 'alice:sk-alice', ...environment });
    });
    afterAll(end);

    it.each(CALLERS)('GET /simulator/stats is like any unknown URL %s', async (_name, init) => {
      const unknown = await observe('/simulator/other', init);
      expect(unknown).toMatchObject({ status: 404 });
      expect(await observe('/simulator/stats', init)).toEqual(unknown);
    });
  });

  describe('there', () => {
    afterEach(end);

    it.each([
      ['by default', {}, 'test'],
      ['without NODE_ENV', {}, undefined],
      ['with SIMULATOR_STATS=true in production', { SIMULATOR_STATS: 'true' }, 'production'],
    ])('GET /simulator/stats is there %s', async (_, environment, nodeEnv) => {
      if (nodeEnv === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = nodeEnv;
      await start(environment);
      await postJson(`${service.baseURL}/responses`, { model: 'gpt-4.1', input: 'Hello!' });
      expect(await report()).toMatchObject({ requests: 1 });
    });
  });
});
