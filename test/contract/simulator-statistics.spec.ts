import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, SimulatorModule } from '../../src/index.js';
import { ClosedProvider } from './closed-provider.js';
import { type Service, type ServiceOptions, startService } from '../support/service.js';
import { PausingClock } from '../support/clocks.js';
import { SocketClient } from '../support/socket-client.js';
import { postJson } from '../support/sse.js';
import type { Transport, WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
}

const NOTHING = {
  requests: 0,
  statuses: {},
  errors: {},
  tokens: { input: 0, output: 0, reasoning: 0 },
  latency_ms: { min: 0, mean: 0, p50: 0, p90: 0, p99: 0, max: 0 },
};

let service: Service;
let clock: PausingClock;

async function start({ environment, ...options }: ServiceOptions = {}): Promise<void> {
  clock = new PausingClock();
  service = await startService({
    ...options,
    overrides: [[Clock, clock]],
    environment: { SIMULATOR_CONTROL: true, ...environment },
  });
}

async function report(headers: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${service.origin}/simulator/stats`, { headers });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

/** Runs a turn under the control of `x-simulate`; what is refused or cut off gives undefined. */
async function run(transport: Transport, body: object, control = ''): Promise<WireResponse | undefined> {
  const turn = { model: 'gpt-4.1', input: 'Hello!', client_metadata: { 'x-simulate': control }, ...body };
  return transport.run(service, turn).then(
    ({ response }) => response,
    () => undefined,
  );
}

function sumTokens(responses: readonly (WireResponse | undefined)[]): object {
  const usages = responses.map((response) => response?.['usage'] as Usage);
  const sum = (of: (usage: Usage) => number): number => usages.reduce((total, usage) => total + of(usage), 0);
  return {
    input: sum(({ input_tokens: tokens }) => tokens),
    output: sum(({ output_tokens: tokens }) => tokens),
    reasoning: sum(({ output_tokens_details: { reasoning_tokens: tokens } }) => tokens),
  };
}

describe('GET /simulator/stats', () => {
  beforeEach(() => start());
  afterEach(() => service.close());

  it('GET /simulator/stats is all zeros before the first turn', async () => {
    expect(await report()).toEqual({ object: 'simulator.stats', ...NOTHING, models: {} });
  });

  it('GET /simulator/stats counts turns and tokens on every transport, together and by model', async () => {
    const responses: (WireResponse | undefined)[] = [];
    for (const transport of TRANSPORTS) {
      responses.push(await run(transport, { model: 'gpt-4.1', input: `Over ${transport.name}.` }));
      expect(await report()).toMatchObject({ requests: responses.length, tokens: sumTokens(responses) });
      responses.push(await run(transport, { model: 'o3', reasoning: { effort: 'high' } }));
      expect(await report()).toMatchObject({ requests: responses.length, tokens: sumTokens(responses) });
    }
    const { models, ...total } = await report();
    const count = { requests: 6, statuses: { completed: 6 }, errors: {}, tokens: sumTokens(responses) };
    expect(total).toEqual({ object: 'simulator.stats', ...NOTHING, ...count, latency_ms: expect.any(Object) });
    const of = (model: string): object => ({
      ...count,
      requests: 3,
      statuses: { completed: 3 },
      tokens: sumTokens(responses.filter((response) => response?.['model'] === model)),
      latency_ms: expect.any(Object),
    });
    expect(models).toEqual({ 'gpt-4.1': of('gpt-4.1'), o3: of('o3') });
    expect(sumTokens(responses)).not.toMatchObject({ reasoning: 0 });
  });

  it.each(TRANSPORTS)('GET /simulator/stats says how turns ended, and errors by code: $name', async (transport) => {
    const runs: readonly (readonly [body: object, control: string])[] = [
      [{}, ''],
      [{ max_output_tokens: 16 }, ''],
      [{}, 'fault=rate_limit'],
      [{ model: 'o3' }, 'fault=rate_limit'],
      [{}, 'fault=unavailable'],
      [{}, 'fault=server_error; after=2'],
      [{}, 'fault=cut; after=2'],
      [{}, 'no such key'],
      [{ reasoning: { effort: 'low' } }, ''],
      [{ previous_response_id: 'resp_missing' }, ''],
    ];
    for (const [body, control] of runs) await run(transport, body, control);
    expect(await report()).toMatchObject({
      requests: 10,
      statuses: { completed: 1, incomplete: 1, refused: 6, failed: 1, disconnected: 1 },
      errors: {
        rate_limit_exceeded: 2,
        server_is_overloaded: 1,
        server_error: 1,
        invalid_value: 1,
        unsupported_parameter: 1,
        previous_response_not_found: 1,
      },
      models: {
        'gpt-4.1': { requests: 9, errors: { rate_limit_exceeded: 1 } },
        o3: { requests: 1, statuses: { refused: 1 }, errors: { rate_limit_exceeded: 1 } },
      },
    });
  });

  it.each(TRANSPORTS)('GET /simulator/stats measures from the request to its end: $name', async (transport) => {
    for (const seconds of [7, 3, 10, 1, 5, 9, 2, 8, 4, 6]) {
      await run(transport, {}, `fault=slow_start; for=${seconds * 100}`);
    }
    await run(transport, { model: 'o3' }, 'latency=300/0/0');
    expect(await report()).toMatchObject({
      latency_ms: { min: 100, max: 1000 },
      models: {
        'gpt-4.1': { latency_ms: { min: 100, mean: 550, p50: 500, p90: 900, p99: 1000, max: 1000 } },
        o3: { latency_ms: { min: 300, mean: 300, p50: 300, p90: 300, p99: 300, max: 300 } },
      },
    });
  });

  it('GET /simulator/stats counts a warm-up, and what it read', async () => {
    await using client = await SocketClient.open(service);
    const { response } = await client.warmUp({ model: 'gpt-4.1', input: 'Hello!' });
    const tokens = sumTokens([response]);
    expect(tokens).toMatchObject({ input: expect.any(Number), output: 0, reasoning: 0 });
    expect(await report()).toMatchObject({ requests: 1, statuses: { completed: 1 }, tokens });
  });

  it('GET /simulator/stats does not count requests that never became a turn', async () => {
    const { status } = await postJson(`${service.baseURL}/responses`, { model: 'gpt-4.1', input: 17 });
    expect(status).toBe(400);
    expect(await report()).toMatchObject(NOTHING);
  });

  it('GET /simulator/stats gives no more than a hundred models a count of their own', async () => {
    for (let index = 1; index <= 102; index++) await run(JSON_TRANSPORT, { model: `model-${index}` });
    const { requests, models } = await report();
    expect(requests).toBe(102);
    expect(Object.keys(models as object)).toEqual(Array.from({ length: 100 }, (_, index) => `model-${index + 1}`));
  });
});

describe('GET /simulator/stats with another provider', () => {
  beforeAll(() => start({ providers: [ClosedProvider], imports: [SimulatorModule] }));
  afterAll(() => service.close());

  it.each(TRANSPORTS)('GET /simulator/stats does not count the turns of another provider: $name', async (transport) => {
    const before = await report();
    expect(await run(transport, { model: 'closed-1' })).toMatchObject({ status: 'completed' });
    expect(await report()).toEqual(before);
    expect(await run(transport, { model: 'gpt-4.1' })).toMatchObject({ status: 'completed' });
    expect(await report()).not.toEqual(before);
  });
});
