import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, applyPatchTool, Runner, shellTool, tool, toolNamespace } from '@openai/agents-core';
import { OpenAIProvider, toolSearchTool } from '@openai/agents-openai';
import type OpenAI from 'openai';
import { z } from 'zod';

import { readCalls } from './call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';

/** What an agent's tools were run with, in order. */
type Executions = { readonly tool: string; readonly values: unknown }[];

/** How an agent ended. */
interface AgentRun {
  readonly finalOutput: unknown;
  readonly executions: Executions;
}

/** How the agent reaches the service. */
type AgentTransport = 'json' | 'sse' | 'ws';

/**
 * Runs an agent of the Agents SDK that has one tool of each kind the SDK runs itself: functions, one of them in a namespace that has to be
 * searched for, a shell and patches. Rejects with what the SDK throws.
 */
async function runCodingAgent(client: OpenAI, model: string, transport: AgentTransport): Promise<AgentRun> {
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

const PATCH = { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' };

describe('an agent of the Agents SDK with an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  it.each(['json', 'sse', 'ws'] as const)(
    'an agent of the Agents SDK runs its own tools of every kind over %s',
    async (transport) => {
      const { upstream, service } = translation;
      const before = upstream.requests.length;
      upstream.answer({
        toolCalls: [
          { name: 'look', id: 'call_a', arguments: '{"at":"the sea"}' },
          { name: 'shell', id: 'call_b', arguments: '{"commands":["ls"]}' },
        ],
      });
      upstream.answer({ toolCalls: [{ name: 'tool_search', id: 'call_c', arguments: '{"paths":["crm"]}' }] });
      upstream.answer({
        toolCalls: [
          { name: 'crm__find', id: 'call_d', arguments: '{"name":"Ada"}' },
          { name: 'apply_patch', id: 'call_e', arguments: JSON.stringify(PATCH) },
        ],
      });
      upstream.answer({ text: 'All done.' });
      const { finalOutput, executions } = await runCodingAgent(service.client(), 'generic', transport);
      expect(finalOutput).toBe('All done.');
      expect(executions.toSorted((one, other) => one.tool.localeCompare(other.tool))).toEqual([
        { tool: 'apply_patch', values: PATCH },
        { tool: 'find', values: { name: 'Ada' } },
        { tool: 'look', values: { at: 'the sea' } },
        { tool: 'shell', values: ['ls'] },
      ]);
      const bodies = upstream.requests.slice(before).map(({ body }) => body);
      expect(bodies).toHaveLength(4);
      expect(readCalls(bodies.at(-1)?.messages ?? []).map(({ id, name, output }) => [id, name, output])).toEqual([
        ['call_a', 'look', 'look is done'],
        ['call_b', 'shell', expect.stringContaining('a.txt')],
        ['call_c', 'tool_search', expect.stringContaining('crm__find')],
        ['call_d', 'crm__find', 'find is done'],
        ['call_e', 'apply_patch', expect.stringContaining('Patched.')],
      ]);
      expect(bodies.map((body) => functionsOf(body).some(({ name }) => name === 'crm__find'))).toEqual([
        false,
        false,
        true,
        true,
      ]);
    },
  );
});
