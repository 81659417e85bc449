import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Agent, Runner } from '@openai/agents-core';
import { OpenAIProvider, webSearchTool } from '@openai/agents-openai';

import type { ModelEvent } from '../../src/index.js';
import { FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';

const engine = await FakeSearxng.start([{ title: 'Tides', url: 'https://tides.example/', content: 'High at nine.' }]);

const service = useService(
  () =>
    startService({
      providers: [ScriptedProvider],
      environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url },
    }) as never,
);

afterAll(() => engine.close());

beforeEach(() => {
  const call: readonly ModelEvent[] = [
    { type: 'function_call', name: 'web_search', callId: 'call_1', key: 'call' },
    { type: 'function_call_arguments', delta: '{"queries":["tide"]}', key: 'call' },
  ];
  service.provider.reply(...call).reply({ type: 'text', delta: 'High at nine【1】.' });
});

describe('the openai SDK', () => {
  it('the openai SDK streams a search and its citations', async () => {
    const stream = service.client().responses.stream({
      model: 'm',
      input: 'High tide?',
      tools: [{ type: 'web_search', search_context_size: 'low' }],
      include: ['web_search_call.action.sources'],
    });
    const types: string[] = [];
    stream.on('event', ({ type }) => void types.push(type));
    const { output, output_text: said } = await stream.finalResponse();
    expect(types).toEqual(expect.arrayContaining(['response.web_search_call.searching']));
    expect(said).toBe('High at nine.');
    expect(output).toMatchObject([
      {
        type: 'web_search_call',
        action: { type: 'search', sources: [{ type: 'url', url: 'https://tides.example/' }] },
      },
      {
        content: [
          {
            annotations: [
              { type: 'url_citation', url: 'https://tides.example/', start_index: 0, end_index: said.length - 1 },
            ],
          },
        ],
      },
    ]);
  });
});

describe.each([{ stream: false }, { stream: true }] as const)('the Agents SDK, with %j', ({ stream }) => {
  it('the Agents SDK runs an agent that searches', async () => {
    const modelProvider = new OpenAIProvider({ openAIClient: service.client(), useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({ name: 'Sailor', model: 'm', tools: [webSearchTool({ searchContextSize: 'low' })] });
    try {
      const run = stream
        ? await runner.run(agent, 'High tide?', { stream: true }).then(async (streamed) => {
            await streamed.completed;
            return streamed;
          })
        : await runner.run(agent, 'High tide?');
      expect(run.finalOutput).toBe('High at nine.');
      expect(run.newItems.map(({ type }) => type)).toEqual(['tool_call_item', 'message_output_item']);
    } finally {
      await modelProvider.close();
    }
  });
});
