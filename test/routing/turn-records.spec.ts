import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import { ApiClient } from '../support/api-client.js';
import { PausingClock } from '../support/clocks.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';

const USAGE = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 };
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

let clock: PausingClock;
let service: RoutedService;

beforeEach(async () => {
  clock = new PausingClock();
  service = await startRoutedService({
    upstreams: {
      dear: { prices: { 'large-*': { input: 10, output: 50 }, '*': { input: 1, cached_input: 0.1, output: 4 } } },
      cheap: { prices: { small: { input: 0, output: 0.5 } } },
      free: {},
    },
    models: [
      { name: 'm', upstreams: [{ provider: 'cheap', model: 'small' }, { provider: 'dear' }] },
      { name: 'large', provider: 'dear', model: 'large-1' },
      { name: 'medium', provider: 'dear', model: 'medium-1' },
      { name: 'unpriced', provider: 'free' },
    ],
    overrides: [
      [Clock, clock],
      [Random, new ChosenRandom()],
    ],
    environment: { API_KEYS: 'red:red-key,blue:blue-key' },
  });
});

afterEach(async () => {
  clock.letGo();
  await service.close();
});

const api = (tenant: string): ApiClient => new ApiClient(service.baseURL, { authorization: `Bearer ${tenant}-key` });

/** How the turn of a response has run, after a create request of red's. */
async function turnOf(body: object): Promise<Readonly<Record<string, unknown>>> {
  const { id } = await api('red').create(body);
  const { status, body: turn } = await api('red').get(`responses/${id}/turn`);
  expect([status, turn]).toEqual([200, expect.objectContaining({ object: 'turn', response_id: id })]);
  return turn;
}

describe('GET /responses/{id}/turn', () => {
  it('GET /responses/{id}/turn tells the requests to upstreams in their order, without their addresses, and what they have cost', async () => {
    service.upstream('dear').refuse(503);
    service.upstream('cheap').answer({ text: 'Yes', usage: USAGE });
    const turn = await turnOf({ model: 'm', input: 'secret-of-the-input' });
    expect(turn).toMatchObject({
      ...{ status: 'completed', error_code: null, model: 'm', provider: 'cheap', transport: 'json' },
      attempts: [
        {
          number: 1,
          provider: 'dear',
          model: 'm',
          kind: 'first',
          error_code: 'server_is_overloaded',
          first_output_ms: null,
        },
        { number: 2, provider: 'cheap', model: 'small', kind: 'fallback', error_code: null },
      ],
      tool_calls: [],
      usage: { input_tokens: 1000, output_tokens: 200 },
      cost: 0.0001,
    });
    expect(JSON.stringify(turn)).not.toMatch(/127\.0\.0\.1|secret-of-the-input|red-key/);
  });

  it.each([
    ['large', 0.02],
    ['medium', 0.0018],
    ['unpriced', null],
  ])(
    'GET /responses/{id}/turn has the cost of the first price whose pattern matches the model at the upstream: %s',
    async (model, cost) => {
      for (const name of ['dear', 'free']) service.upstream(name).answer({ text: 'Yes', usage: USAGE });
      expect(await turnOf({ model, input: 'Hi' })).toMatchObject({ cost });
    },
  );

  it('GET /responses/{id}/turn counts cached input at its own price', async () => {
    const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 500 } };
    service.upstream('dear').answer({ text: 'Yes', usage });
    expect(await turnOf({ model: 'medium', input: 'Hi' })).toMatchObject({ cost: 0.00135 });
  });

  it('GET /responses/{id}/turn knows a turn whose response is not stored, and the trace of its client', async () => {
    const traced = api('red').with({ traceparent: `00-${TRACE}-00f067aa0ba902b7-01` });
    const { status, headers, body } = await traced.post('responses', { model: 'large', input: 'Hi', store: false });
    expect(status).toBe(200);
    const turn = (await api('red').get(`responses/${String(body['id'])}/turn`)).body;
    expect(turn).toMatchObject({ trace_id: TRACE, request_id: headers.get('x-request-id') });
  });

  it('the record of a turn is not found by other tenants', async () => {
    const { id } = await api('red').create({ model: 'large', input: 'Hi' });
    const missing = { status: 404, body: { error: { message: `Turn of the response with id '${id}' not found.` } } };
    expect(await api('blue').get(`responses/${id}/turn`)).toMatchObject(missing);
    expect(await api('red').get(`responses/${id}/turn`)).toMatchObject({ status: 200 });
  });

  it('GET /responses/{id}/turn tells of a turn that runs what it has done so far', async () => {
    service.upstream('dear').hold();
    const answer = api('red').create({ model: 'large', input: 'Hi' });
    await service.upstream('dear').received();
    const { turns } = (await api('red').get('activity')).body as { turns: readonly { readonly id: string }[] };
    const { body } = await api('red').get(`responses/${String(turns[0]?.id)}/turn`);
    expect(body).toMatchObject({ status: 'in_progress', model: 'large', attempts: [], usage: null, cost: null });
    service.upstream('dear').release();
    expect(await answer).toMatchObject({ status: 'completed' });
  });
});
