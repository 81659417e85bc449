// Slow: runs long agent loops.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { type Loop, type LoopSettings, runLoop, type RunTurn, withOneSocket } from '../support/agent-loop.js';
import { useService } from '../support/describe-service.js';
import type { Service } from '../support/service.js';

const ROUNDS = 20;
const PROMPT = 'How is the weather on my way?';

const forecast = {
  type: 'function',
  name: 'get_forecast',
  strict: true,
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', pattern: '^[a-z]' },
      days: { type: 'integer', minimum: 1, maximum: 14 },
      around: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] },
    },
    required: ['city', 'days', 'around'],
    additionalProperties: false,
  },
} as const;

const STATELESS = { store: false, include: ['reasoning.encrypted_content'] } as const satisfies Partial<LoopSettings>;

/** A way to run the same loop. */
interface Way {
  readonly name: string;
  readonly chained: boolean;
  readonly settings?: Partial<LoopSettings>;
  readonly use: <T>(service: Service, loop: (run: RunTurn) => Promise<T>) => Promise<T>;
}

const ON_HTTP: Way['use'] = (service, loop) => loop((params) => service.client().responses.create(params));
const STREAMED: Way['use'] = (service, loop) =>
  loop((params) => service.client().responses.stream(params).finalResponse());
const ON_ONE_SOCKET: Way['use'] = (service, loop) => withOneSocket(service.client(), loop);

const WAYS: readonly Way[] = [
  { name: 'previous_response_id', chained: true, use: ON_HTTP },
  { name: 'previous_response_id, streamed', chained: true, use: STREAMED },
  { name: 'a stateless replay', chained: false, settings: STATELESS, use: ON_HTTP },
  { name: 'a stateless replay, streamed', chained: false, settings: STATELESS, use: STREAMED },
  { name: 'one socket', chained: true, use: ON_ONE_SOCKET },
  { name: 'one socket that stores nothing', chained: true, settings: STATELESS, use: ON_ONE_SOCKET },
  { name: 'a stateless replay on one socket', chained: false, settings: STATELESS, use: ON_ONE_SOCKET },
];

describe.each(WAYS)('an agent without a framework, by $name', ({ chained, settings, use }) => {
  const service = useService({ environment: { SIMULATOR_TOOL_ROUNDS: ROUNDS } });
  const fits = new Ajv2020().compile(forecast.parameters);

  const run = (more: Partial<LoopSettings>, prompt = PROMPT) =>
    use(service, (turn) =>
      runLoop(turn, { model: 'gpt-5', tools: [forecast], ...settings, ...more }, { prompt, chained }),
    );

  let usual: Loop;

  beforeAll(async () => {
    usual = await run({});
  });

  it('an agent without a framework ends by itself after twenty calls', () => {
    const { responses, calls } = usual;
    expect(calls).toHaveLength(ROUNDS);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(ROUNDS);
    for (const { arguments: json } of calls) expect([fits(JSON.parse(json)), json]).toEqual([true, json]);
    expect(responses).toHaveLength(ROUNDS + 1);
    expect(responses.at(-1)?.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });

  it('an agent without a framework says something else in each round', () => {
    const { calls } = usual;
    expect(new Set(calls.map(({ arguments: json }) => json)).size).toBeGreaterThan(ROUNDS / 2);
  });

  it('an agent without a framework ends although a call is required in every turn', async () => {
    const { responses, calls } = await run({ tool_choice: 'required' });
    expect(calls).toHaveLength(25);
    expect(responses.at(-1)?.output.at(-1)?.type).toBe('message');
  });

  it('an agent without a framework goes on after each round of parallel calls', async () => {
    const tools = ['get_tides', 'get_pollen', 'get_forecast'].map((name) => ({ ...forecast, name }));
    const { calls } = await run({ tools }, 'Ask get_pollen and get_tides.');
    expect(calls.map(({ name }) => name).sort()).toEqual([
      ...Array<string>(ROUNDS).fill('get_pollen'),
      ...Array<string>(ROUNDS).fill('get_tides'),
    ]);
  });

  it('an agent without a framework gives reasoning back to be replayed', () => {
    const { history } = usual;
    const reasoning = history.filter((item) => item.type === 'reasoning');
    expect(reasoning).toHaveLength(ROUNDS + 1);
    for (const { encrypted_content: content } of reasoning) expect(content).toMatch(/^[\w+/=-]{20,}$/);
    expect(new Set(reasoning.map(({ id }) => id)).size).toBe(ROUNDS + 1);
  });
});
