// Slow: runs long agent loops.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

import { useService } from '../support/describe-service.js';
import type { Service } from '../support/service.js';

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Response = OpenAI.Responses.Response;
type Item = OpenAI.Responses.ResponseInputItem;
type Call = OpenAI.Responses.ResponseFunctionToolCall;

/** What of a request does not change from turn to turn. */
type LoopSettings = Omit<Params, 'input' | 'previous_response_id'>;

/** Runs one turn. */
type RunTurn = (params: Params) => Promise<Response>;

/** An agent's loop that has come to its end. */
interface Loop {
  readonly responses: readonly Response[];
  /** The calls, in order, of all responses. */
  readonly calls: readonly Call[];
  /** Everything that was said, as a stateless client has it. */
  readonly history: readonly Item[];
}

/** More than any loop here may have. */
const MOST_TURNS = 40;

/**
 * Answers calls until a response has none, as an agent without a framework does: `chained` names the response before and
 * sends the outputs only, else everything is sent again. Throws when there is no end.
 */
async function runLoop(
  run: RunTurn,
  settings: LoopSettings,
  { prompt, chained }: { readonly prompt: string; readonly chained: boolean },
): Promise<Loop> {
  const history: Item[] = [{ role: 'user', content: prompt }];
  const responses: Response[] = [];
  const calls: Call[] = [];
  let input: Item[] = [...history];
  while (responses.length < MOST_TURNS) {
    const previous = chained ? responses.at(-1)?.id : undefined;
    const response = await run({
      ...settings,
      input: chained ? input : [...history],
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    });
    responses.push(response);
    const asked = response.output.filter((item) => item.type === 'function_call');
    calls.push(...asked);
    input = asked.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'Sunny.' }));
    history.push(...(response.output as Item[]), ...input);
    if (asked.length === 0) return { responses, calls, history };
  }
  throw new Error(`the loop had no end after ${MOST_TURNS} turns`);
}

/** Runs every turn of a loop on one socket. */
async function withOneSocket<T>(client: OpenAI, use: (run: RunTurn) => Promise<T>): Promise<T> {
  const socket = new ResponsesWS(client);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const events = socket.stream()[Symbol.asyncIterator]();
  const run: RunTurn = async (params) => {
    socket.send({ type: 'response.create', ...params });
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new Error('the socket was closed');
      if (next.value.type === 'error') throw next.value.error;
      if (next.value.type === 'message' && next.value.message.type === 'response.completed') {
        return next.value.message.response;
      }
    }
  };
  try {
    return await use(run);
  } finally {
    socket.close();
    await closed;
  }
}

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

const service = useService({ environment: { SIMULATOR_TOOL_ROUNDS: ROUNDS } });
const fits = new Ajv2020().compile(forecast.parameters);

describe.each(WAYS)('an agent without a framework, by $name', ({ chained, settings, use }) => {
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
