import { Agent, Runner, tool, type AgentOutputType } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import type OpenAI from 'openai';
import { z } from 'zod';

/** What the agent's tools are called with. */
export const forecastParameters = z.strictObject({
  city: z.string().regex(/^\S/),
  days: z.int().min(1).max(14),
  unit: z.enum(['celsius', 'fahrenheit']),
  around: z.array(z.string()).max(3).nullable(),
});

/** An agent of the Agents SDK, and what it did. */
export interface WeatherAgent {
  /** The name and the arguments of each execution, in order. */
  readonly executions: { readonly name: string; readonly values: unknown }[];
  run(prompt: string): Promise<{ readonly finalOutput: unknown; readonly turns: number }>;
}

/** How an agent runs. */
export interface AgentOptions<Output extends AgentOutputType> {
  readonly transport?: AgentTransport;
  readonly toolNames?: readonly string[];
  readonly outputType?: Output;
  /** The response to go on from; then each turn names the one before instead of sending everything again. */
  readonly previousResponseId?: string;
  readonly toolChoice?: 'required';
}

/** Ways in which the Agents SDK reaches a service. */
export const AGENT_TRANSPORTS = ['json', 'sse', 'ws'] as const;

/** One of AGENT_TRANSPORTS. */
export type AgentTransport = (typeof AGENT_TRANSPORTS)[number];

/** An agent whose tools count how often they are executed; the SDK executes none whose arguments do not fit. */
export function createAgent<Output extends AgentOutputType = 'text'>(
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
