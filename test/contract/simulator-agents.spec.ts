// Slow: runs long agent loops.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, type AgentOutputType, Runner, tool } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import type OpenAI from 'openai';
import { z } from 'zod';

import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

/** What the agent's tools are called with. */
const forecastParameters = z.strictObject({
  city: z.string().regex(/^\S/),
  days: z.int().min(1).max(14),
  unit: z.enum(['celsius', 'fahrenheit']),
  around: z.array(z.string()).max(3).nullable(),
});

/** An agent of the Agents SDK, and what it did. */
interface WeatherAgent {
  /** The name and the arguments of each execution, in order. */
  readonly executions: { readonly name: string; readonly values: unknown }[];
  run(prompt: string): Promise<{ readonly finalOutput: unknown; readonly turns: number }>;
}

/** How an agent runs. */
interface AgentOptions<Output extends AgentOutputType> {
  readonly transport?: AgentTransport;
  readonly toolNames?: readonly string[];
  readonly outputType?: Output;
  /** The response to go on from; then each turn names the one before instead of sending everything again. */
  readonly previousResponseId?: string;
  readonly toolChoice?: 'required';
}

/** Ways in which the Agents SDK reaches a service. */
const AGENT_TRANSPORTS = ['json', 'sse', 'ws'] as const;

/** One of AGENT_TRANSPORTS. */
type AgentTransport = (typeof AGENT_TRANSPORTS)[number];

/** An agent whose tools count how often they are executed; the SDK executes none whose arguments do not fit. */
function createAgent<Output extends AgentOutputType = 'text'>(
  client: OpenAI,
  {
    transport = 'json',
    toolNames = ['get_forecast'],
    outputType,
    previousResponseId,
    toolChoice,
  }: AgentOptions<Output> = {},
): WeatherAgent {
  const executions: WeatherAgent['executions'] = [];
  const tools = toolNames.map((name) =>
    tool({
      name,
      description: 'Tells the weather.',
      parameters: forecastParameters,
      execute: (values) => {
        executions.push({ name, values });
        return 'Sunny.';
      },
    }),
  );
  const agent = new Agent({
    name: 'Weather',
    instructions: 'Help.',
    model: 'gpt-5',
    tools,
    resetToolChoice: false,
    ...(outputType === undefined ? {} : { outputType }),
    ...(toolChoice === undefined ? {} : { modelSettings: { toolChoice } }),
  });
  const run = async (prompt: string): ReturnType<WeatherAgent['run']> => {
    const modelProvider = new OpenAIProvider({
      openAIClient: client,
      useResponses: true,
      useResponsesWebSocket: transport === 'ws',
    });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const options = { maxTurns: 40, ...(previousResponseId === undefined ? {} : { previousResponseId }) };
    try {
      if (transport === 'json') return summarize(await runner.run(agent, prompt, options));
      const result = await runner.run(agent, prompt, { ...options, stream: true });
      await result.completed;
      return summarize(result);
    } finally {
      await modelProvider.close();
    }
  };
  return { executions, run };
}

function summarize(result: { readonly finalOutput?: unknown; readonly rawResponses: readonly unknown[] }): {
  readonly finalOutput: unknown;
  readonly turns: number;
} {
  return { finalOutput: result.finalOutput, turns: result.rawResponses.length };
}

const ROUNDS = 20;
const PROMPT = 'How is the weather on my way?';
const FORECAST = { city: 'Lisbon', days: 3, unit: 'celsius', around: null };

/** What the model is told before it makes twenty rounds of calls, and what the client says with each request. */
interface Way {
  readonly name: string;
  readonly environment: () => Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('the Agents SDK with the simulator', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'simulator-agents-'));
    const calls = Array.from({ length: ROUNDS }, () => ({ calls: [{ name: 'get_forecast', arguments: FORECAST }] }));
    const script = { model: 'gpt-5', turns: [...calls, { text: 'Take an umbrella.' }], on_exhausted: 'error' };
    await writeFile(join(folder, 'journey.json'), JSON.stringify(script));
  });

  afterAll(() => rm(folder, { recursive: true }));

  const WAYS: readonly Way[] = [
    {
      name: 'a header of the client',
      environment: () => ({ SIMULATOR_CONTROL: true }),
      headers: { 'x-simulate': 'rounds=20' },
    },
    { name: 'the environment', environment: () => ({ SIMULATOR_TOOL_ROUNDS: ROUNDS }) },
    { name: 'a script', environment: () => ({ SIMULATOR_SCRIPTS: join(folder, 'journey.json') }) },
  ];

  const requireForecasts = ({ executions }: WeatherAgent): void => {
    for (const { values } of executions) expect(forecastParameters.safeParse(values)).toMatchObject({ success: true });
  };

  describe.each(WAYS)('twenty rounds by $name', ({ environment, headers }) => {
    it.each(AGENT_TRANSPORTS)('agents execute the tool twenty times and end with a text: %s', async (transport) => {
      await using service = await startService({ environment: environment() });
      const client = service.client({
        ...(headers === undefined ? {} : { defaultHeaders: headers }),
        ...(transport === 'ws' ? { fetch: () => Promise.reject(new Error('This agent needs no HTTP.')) } : {}),
      });
      const agent = createAgent(client, { transport });
      const { finalOutput, turns } = await agent.run(PROMPT);
      expect(agent.executions.map(({ name }) => name)).toEqual(Array(ROUNDS).fill('get_forecast'));
      requireForecasts(agent);
      expect(turns).toBe(ROUNDS + 1);
      expect(finalOutput).toEqual(expect.stringMatching(/\w+ \w+/));
    });
  });

  describeService('in one service', { environment: { SIMULATOR_CONTROL: true } }, (service) => {
    const simulate = (control: string) => service.client({ defaultHeaders: { 'x-simulate': control } });

    it.each(['json', 'sse'] as const)(
      'an agent goes on with the chain instead of the whole history: %s',
      async (transport) => {
        const sent: { readonly previous_response_id?: string; readonly input: readonly object[] }[] = [];
        const client = service.client({
          defaultHeaders: { 'x-simulate': 'rounds=20' },
          fetch: (url, init) => {
            sent.push(JSON.parse(init?.body as string) as (typeof sent)[number]);
            return fetch(url, init);
          },
        });
        const { id } = await client.responses.create({ model: 'gpt-5', input: 'Hello.' });
        const agent = createAgent(client, { transport, previousResponseId: id });
        const { turns } = await agent.run(PROMPT);
        expect(agent.executions).toHaveLength(ROUNDS);
        expect(turns).toBe(ROUNDS + 1);
        const outputs = sent.slice(2);
        expect(new Set(outputs.map(({ previous_response_id: previous }) => previous)).size).toBe(ROUNDS);
        for (const { input } of outputs) expect(input).toMatchObject([{ type: 'function_call_output' }]);
      },
    );

    it.each(AGENT_TRANSPORTS)('an agent executes calls that come in parallel: %s', async (transport) => {
      const agent = createAgent(simulate('rounds=5; calls=3'), { transport });
      const { turns, finalOutput } = await agent.run(PROMPT);
      expect(agent.executions).toHaveLength(15);
      requireForecasts(agent);
      expect(turns).toBe(6);
      expect(finalOutput).toEqual(expect.stringMatching(/\w+ \w+/));
    });

    it.each(AGENT_TRANSPORTS)('an agent executes each tool that the user names: %s', async (transport) => {
      const toolNames = ['get_forecast', 'get_tides', 'get_pollen'];
      const agent = createAgent(service.client(), { transport, toolNames });
      const { turns } = await agent.run('Ask get_pollen and get_forecast at once.');
      expect(agent.executions.map(({ name }) => name).sort()).toEqual(['get_forecast', 'get_pollen']);
      requireForecasts(agent);
      expect(turns).toBe(2);
    });

    it.each(AGENT_TRANSPORTS)('an agent ends although a call is required in every turn: %s', async (transport) => {
      const agent = createAgent(service.client(), { transport, toolChoice: 'required' });
      const { turns, finalOutput } = await agent.run(PROMPT);
      expect(agent.executions).toHaveLength(25);
      expect(turns).toBe(26);
      expect(finalOutput).toEqual(expect.stringMatching(/\w+ \w+/));
    });

    it.each(AGENT_TRANSPORTS)('an agent reads structured output after the calls: %s', async (transport) => {
      const outputType = z.strictObject({
        summary: z.string(),
        certainty: z.number().min(0).max(1),
        days: z.array(z.strictObject({ date: z.iso.date(), sky: z.enum(['clear', 'grey']) })).min(1),
        warning: z.string().nullable(),
      });
      const agent = createAgent(simulate('rounds=2'), { transport, outputType });
      const { finalOutput } = await agent.run(PROMPT);
      expect(agent.executions).toHaveLength(2);
      expect(outputType.safeParse(finalOutput)).toMatchObject({ success: true });
    });
  });
});
