import { describe, expect, it } from '@jest/globals';
import { Agent, Runner, tool } from '@openai/agents-core';
import { OpenAIConversationsSession, OpenAIProvider } from '@openai/agents-openai';
import { z } from 'zod';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useScriptedService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { transcript } from '../support/output.js';

describe.each(STATES)("the Agents SDK's OpenAIConversationsSession in $state", ({ open }) => {
  const service = useScriptedService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  const makeAgent = () =>
    new Agent({
      name: 'Weather',
      model: 'scripted',
      tools: [
        tool({
          name: 'look',
          description: 'Tells the weather.',
          parameters: z.strictObject({ city: z.string() }),
          execute: () => 'Sunny.',
        }),
      ],
    });

  /** Runs an agent; gives its last words. */
  const run = async (agent: ReturnType<typeof makeAgent>, prompt: string, options: object): Promise<unknown> => {
    const modelProvider = new OpenAIProvider({ openAIClient: service.client(), useResponses: true });
    try {
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      return (await runner.run(agent, prompt, options)).finalOutput;
    } finally {
      await modelProvider.close();
    }
  };

  const answerWithCall = (): void => {
    service.provider
      .reply(
        { type: 'function_call', name: 'look', callId: 'call_1' },
        { type: 'function_call_arguments', delta: '{"city":"Bonn"}' },
      )
      .reply({ type: 'text', delta: 'It is sunny.' });
  };

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);
  const WHOLE = [
    'user: The weather in Bonn?',
    'function_call',
    'function_call_output',
    'assistant: It is sunny.',
    'user: And tomorrow?',
  ];

  it('a session of the Agents SDK holds what its runs said, and pops and clears it', async () => {
    const session = new OpenAIConversationsSession({ client: service.client() });
    const agent = makeAgent();
    answerWithCall();
    expect(await run(agent, 'The weather in Bonn?', { session })).toBe('It is sunny.');
    service.provider.reply({ type: 'text', delta: 'Rain.' });
    expect(await run(agent, 'And tomorrow?', { session })).toBe('Rain.');
    expect(seen()).toEqual(WHOLE);
    const items = await session.getItems();
    expect(items.map(({ type }) => type)).toEqual([
      ...['message', 'function_call', 'function_call_result', 'message', 'message', 'message'],
    ]);
    expect(await session.getItems(2)).toEqual(items.slice(-2));
    expect(await session.popItem()).toEqual(items.at(-1));
    expect(await session.getItems()).toEqual(items.slice(0, -1));
    const id = await session.getSessionId();
    await session.clearSession();
    expect((await service.api.get(`conversations/${id}`)).status).toBe(404);
    expect(await session.getItems()).toEqual([]);
  });

  it('a session of the Agents SDK is not needed: runs may name the conversation themselves', async () => {
    const { id: conversationId } = await service.client().conversations.create();
    const agent = makeAgent();
    answerWithCall();
    expect(await run(agent, 'The weather in Bonn?', { conversationId })).toBe('It is sunny.');
    await run(agent, 'And tomorrow?', { conversationId });
    expect(seen()).toEqual(WHOLE);
    expect(service.provider.turns.map(({ input }) => input.length)).toEqual([1, 1, 1]);
    expect(await service.api.idsOf(`conversations/${conversationId}/items`)).toHaveLength(6);
  });
});
