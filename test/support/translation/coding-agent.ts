import { Agent, applyPatchTool, Runner, shellTool, tool, toolNamespace } from '@openai/agents-core';
import { OpenAIProvider, toolSearchTool } from '@openai/agents-openai';
import type OpenAI from 'openai';
import { z } from 'zod';

/** What an agent's tools were run with, in order. */
export type Executions = { readonly tool: string; readonly values: unknown }[];

/** How an agent ended. */
export interface AgentRun {
  readonly finalOutput: unknown;
  readonly executions: Executions;
}

/** How the agent reaches the service. */
export type AgentTransport = 'json' | 'sse' | 'ws';

/**
 * Runs an agent of the Agents SDK that has one tool of each kind the SDK runs itself: functions, one of them in a namespace that has to be
 * searched for, a shell and patches. Rejects with what the SDK throws.
 */
export async function runCodingAgent(client: OpenAI, model: string, transport: AgentTransport): Promise<AgentRun> {
  const executions: Executions = [];
  const execute = (name: string) => (values: unknown) => {
    executions.push({ tool: name, values });
    return `${name} is done`;
  };
  const edit = async (operation: unknown): Promise<{ readonly status: 'completed'; readonly output: string }> => {
    executions.push({ tool: 'apply_patch', values: operation });
    return { status: 'completed', output: 'Patched.' };
  };
  const agent = new Agent({
    name: 'Coder',
    instructions: 'Help.',
    model,
    tools: [
      tool({ name: 'look', description: 'Looks.', parameters: z.object({ at: z.string() }), execute: execute('look') }),
      ...toolNamespace({
        name: 'crm',
        description: 'Customers.',
        tools: [
          tool({
            name: 'find',
            description: 'Finds a customer.',
            parameters: z.object({ name: z.string() }),
            deferLoading: true,
            execute: execute('find'),
          }),
        ],
      }),
      toolSearchTool({ execution: 'client' }),
      shellTool({
        shell: {
          run: async ({ commands }) => {
            executions.push({ tool: 'shell', values: commands });
            return { output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] };
          },
        },
      }),
      applyPatchTool({ editor: { createFile: edit, updateFile: edit, deleteFile: edit } }),
    ],
  });
  const modelProvider = new OpenAIProvider({
    openAIClient: client,
    useResponses: true,
    useResponsesWebSocket: transport === 'ws',
  });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  try {
    if (transport === 'json') return { finalOutput: (await runner.run(agent, 'Go on.')).finalOutput, executions };
    const result = await runner.run(agent, 'Go on.', { stream: true });
    await result.completed;
    return { finalOutput: result.finalOutput, executions };
  } finally {
    await modelProvider.close();
  }
}
