import { describe, expect, it } from '@jest/globals';
import type { AIMessage, ToolMessage } from '@langchain/core/messages';
import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings, tools as hosted } from '@langchain/openai';
import { z } from 'zod';

import { call, say, search } from '../support/scripted-calls.js';
import { useToolService } from './tool-service.js';

const { service, shop, ids, context } = await useToolService();

const connection = () => ({ apiKey: 'unused', maxRetries: 0, configuration: { baseURL: service.baseURL } });
const model = (options: object = {}) =>
  new ChatOpenAI({ ...connection(), model: 'm', useResponsesApi: true, ...options });

const WEATHER = tool(({ city }: { city: string }) => `Sunny in ${city}.`, {
  name: 'weather',
  description: 'Tells the weather in a city.',
  schema: z.object({ city: z.string() }),
});
const SHOP = { type: 'mcp', server_label: 'shop', require_approval: 'never' } as const;

type Asked = Parameters<ChatOpenAI['invoke']>;

/** An answer, read whole or as a stream. */
const WAYS = [
  {
    name: 'invoke',
    ask: (asked: Pick<ChatOpenAI, 'invoke'>, ...[input, options]: Asked): Promise<AIMessage> =>
      asked.invoke(input, options),
  },
  {
    name: 'stream',
    ask: async (asked: Pick<ChatOpenAI, 'stream'>, ...[input, options]: Asked): Promise<AIMessage> => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await asked.stream(input, options)) whole = whole?.concat(chunk) ?? chunk;
      if (whole === undefined) throw new Error('nothing was said');
      return whole;
    },
  },
] as const;

describe.each(WAYS)('LangChain, with $name', ({ ask }) => {
  it('LangChain reads an answer, its usage and its id', async () => {
    service.provider.reply(...say('Hel', 'lo.'));
    const answer = await ask(model(), 'Say hello.');
    expect(answer.text).toBe('Hello.');
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    expect(answer.response_metadata['id']).toMatch(/^resp_/);
  });

  it('LangChain runs its own tool, and brings its result', async () => {
    service.provider.reply(...call('weather', { city: 'Oslo' })).reply(...say('It is sunny.'));
    const asked = model().bindTools([WEATHER]);
    const question = new HumanMessage('How is the weather in Oslo?');
    const first = await ask(asked, [question]);
    const [made] = first.tool_calls ?? [];
    expect(made).toMatchObject({ name: 'weather', args: { city: 'Oslo' } });
    const result = (await WEATHER.invoke(made as never)) as ToolMessage;
    const answer = await ask(asked, [question, first, result]);
    expect(answer.text).toBe('It is sunny.');
    expect(context()).toMatchObject([
      { role: 'user' },
      { type: 'function_call', name: 'weather', call_id: 'call_weather' },
      { type: 'function_call_output', output: 'Sunny in Oslo.' },
    ]);
  });

  it('LangChain continues a response', async () => {
    service.provider.reply(...say('One.')).reply(...say('Two.'));
    const first = await ask(model(), 'Count.');
    const previous_response_id = first.response_metadata['id'] as string;
    await ask(model(), 'On.', { previous_response_id });
    expect(context()).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'user' }]);
  });

  it('LangChain has a tool of an MCP server run by the service, and keeps its call in the next turn', async () => {
    service.provider
      .reply(...call('shop__look', { sku: 1 }))
      .reply(...say('Three.'))
      .reply(...say('Yes.'));
    const asked = model().bindTools([{ ...SHOP, server_url: shop.url }]);
    const question = new HumanMessage('How many?');
    const first = await ask(asked, [question]);
    expect(first.text).toBe('Three.');
    await ask(asked, [question, first, new HumanMessage('Sure?')]);
    expect(JSON.stringify(context())).toContain('Three left.');
    expect(shop.count('tools/call')).toBe(1);
  });

  it.each([
    [true, 1, 'Bought.'],
    [false, 0, 'denied'],
  ])('LangChain answers a request for an approval with %s', async (approve, calls, seen) => {
    service.provider.reply(...call('shop__buy', { sku: 1 })).reply(...say('Done.'));
    const asked = model().bindTools([{ ...SHOP, server_url: shop.url, require_approval: 'always' }]);
    const first = await ask(asked, 'Buy it.');
    const outputs = first.additional_kwargs['tool_outputs'] as { readonly type: string; readonly id: string }[];
    const request = outputs.find(({ type }) => type === 'mcp_approval_request');
    const approval = new HumanMessage({
      content: [{ type: 'mcp_approval_response', approval_request_id: request?.id, approve }] as never,
    });
    const previous_response_id = first.response_metadata['id'] as string;
    const answer = await ask(asked, [approval], { previous_response_id });
    expect(answer.text).toBe('Done.');
    expect(shop.count('tools/call')).toBe(calls);
    expect(JSON.stringify(context())).toContain(seen);
  });

  it('LangChain reads the citations of a web search', async () => {
    service.provider.reply(...search('tide')).reply(...say('High at nine【1】.'));
    const answer = await ask(model().bindTools([hosted.webSearch()]), 'High tide?');
    expect(answer.text).toBe('High at nine.');
    expect(JSON.stringify(answer.content)).toContain('https://tides.example/');
  });

  it('LangChain reads the citations of a file search', async () => {
    service.provider.reply(...call('file_search', { queries: ['leave'] })).reply(...say('Thirty days【f1】.'));
    const answer = await ask(
      model().bindTools([hosted.fileSearch({ vectorStoreIds: [ids.store] })]),
      'How much leave?',
    );
    expect(answer.text).toBe('Thirty days.');
    expect(JSON.stringify(answer.content)).toContain('leave.txt');
  });
});

describe('LangChain', () => {
  it('LangChain reads structured output', async () => {
    service.provider.reply(...say('{"left":3}'));
    const stock = model().withStructuredOutput(z.object({ left: z.int() }), { method: 'jsonSchema', name: 'stock' });
    expect(await stock.invoke('How many?')).toEqual({ left: 3 });
  });

  it('LangChain embeds texts', async () => {
    const embeddings = new OpenAIEmbeddings({ ...connection(), model: 'm' });
    const vectors = await embeddings.embedDocuments(['one', 'two']);
    expect(vectors).toHaveLength(2);
    expect(vectors[0]).not.toEqual(vectors[1]);
  });

  it('LangChain throws the error of a refused request with its status and words', async () => {
    const refused = model().invoke('On.', { previous_response_id: 'resp_unknown' });
    await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining('resp_unknown') });
  });
});
