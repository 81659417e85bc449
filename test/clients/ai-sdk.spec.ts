import { describe, expect, it } from '@jest/globals';
import { createOpenAI } from '@ai-sdk/openai';
import {
  APICallError,
  embedMany,
  generateText,
  isStepCount,
  type ModelMessage,
  Output,
  streamText,
  tool,
  type ToolSet,
} from 'ai';
import { z } from 'zod';

import { call, say, search } from '../support/scripted-calls.js';
import { useToolService } from './tool-service.js';

const { service, shop, ids, context } = await useToolService();

const provider = () => createOpenAI({ baseURL: service.baseURL, apiKey: 'unused' });
/** A name that the SDK knows as a model that thinks. */
const model = () => provider().responses('gpt-5');

/** What a client that stores nothing brings back. */
const SEAL = { type: 'reasoning_encrypted', plain: 'I look.' } as const;

const WEATHER = {
  weather: tool({
    description: 'Tells the weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `Sunny in ${city}.`,
  }),
};

interface Options {
  readonly prompt?: string;
  readonly messages?: ModelMessage[];
  readonly tools?: ToolSet;
  readonly providerOptions?: Parameters<typeof generateText>[0]['providerOptions'];
}

/** A whole run, read as an answer or as a stream. */
const WAYS = [
  {
    name: 'generateText',
    run: async ({ prompt = 'Hello!', messages, ...options }: Options) => {
      const asked = messages === undefined ? { prompt } : { messages };
      const { text, content, sources, usage, responseMessages } = await generateText({
        ...{ model: model(), maxRetries: 0, stopWhen: isStepCount(5), ...asked, ...options },
      });
      return { text, content, sources, usage, responseMessages };
    },
  },
  {
    name: 'streamText',
    run: async ({ prompt = 'Hello!', messages, ...options }: Options) => {
      const asked = messages === undefined ? { prompt } : { messages };
      const stream = streamText({
        ...{ model: model(), maxRetries: 0, stopWhen: isStepCount(5), ...asked, ...options },
        onError: ({ error }) => {
          throw error;
        },
      });
      const [text, content, sources, usage, responseMessages] = await Promise.all([
        ...([stream.text, stream.content, stream.sources, stream.usage, stream.responseMessages] as const),
      ]);
      return { text, content, sources, usage, responseMessages };
    },
  },
] as const;

describe.each(WAYS)('the AI SDK, with $name', ({ run }) => {
  it('the AI SDK reads an answer and its usage', async () => {
    service.provider.reply(...say('Hel', 'lo.'));
    const { text, usage } = await run({ prompt: 'Say hello.' });
    expect(text).toBe('Hello.');
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  it.each([true, false])('the AI SDK runs its own tool, and continues, with store: %s', async (store) => {
    service.provider.reply({ type: 'reasoning', delta: 'I look.' }, SEAL, ...call('weather', { city: 'Oslo' }));
    service.provider.reply(...say('It is sunny.'));
    const { text } = await run({ tools: WEATHER, providerOptions: { openai: { store } } });
    expect(text).toBe('It is sunny.');
    expect(context()).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', content: [{ text: 'I look.' }] },
      { type: 'function_call', name: 'weather' },
      { type: 'function_call_output', output: 'Sunny in Oslo.' },
    ]);
  });

  it('the AI SDK has a tool of an MCP server run by the service', async () => {
    service.provider.reply(...call('shop__look', { sku: 1 })).reply(...say('Three.'));
    const { text, content } = await run({
      tools: { mcp: provider().tools.mcp({ serverLabel: 'shop', serverUrl: shop.url }) },
    });
    expect(text).toBe('Three.');
    expect(content).toContainEqual(
      expect.objectContaining({
        ...{ type: 'tool-result', toolName: 'mcp.look', output: expect.objectContaining({ output: 'Three left.' }) },
      }),
    );
  });

  it.each([
    [true, 1, 'Bought.'],
    [false, 0, 'denied'],
  ])('the AI SDK answers a request for an approval with %s', async (approved, calls, seen) => {
    service.provider.reply(...call('shop__buy', { sku: 1 })).reply(...say('Done.'));
    const mcp = provider().tools.mcp({ serverLabel: 'shop', serverUrl: shop.url, requireApproval: 'always' });
    const messages: ModelMessage[] = [{ role: 'user', content: 'Buy it.' }];
    const first = await run({ messages, tools: { mcp } });
    const request = first.content.find(({ type }) => type === 'tool-approval-request');
    expect(request).toBeDefined();
    const { approvalId } = request as { readonly approvalId: string };
    messages.push(...first.responseMessages, {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId, approved, providerExecuted: true }],
    });
    const { text } = await run({ messages, tools: { mcp } });
    expect(text).toBe('Done.');
    expect(shop.count('tools/call')).toBe(calls);
    expect(JSON.stringify(context())).toContain(seen);
  });

  it('the AI SDK reads the sources and citations of a web search', async () => {
    service.provider.reply(...search('tide')).reply(...say('High at nine【1】.'));
    const { text, sources, content } = await run({ tools: { web_search: provider().tools.webSearch() } });
    expect(text).toBe('High at nine.');
    expect(sources).toMatchObject([{ sourceType: 'url', url: 'https://tides.example/' }]);
    expect(content.at(-1)).toMatchObject({
      citations: [{ source: { url: 'https://tides.example/', title: 'Tides' }, startIndex: 0, endIndex: 12 }],
    });
  });

  it('the AI SDK reads the sources of a file search', async () => {
    service.provider.reply(...call('file_search', { queries: ['leave'] })).reply(...say('Thirty days【f1】.'));
    const file_search = provider().tools.fileSearch({ vectorStoreIds: [ids.store] });
    const { text, sources } = await run({ tools: { file_search } });
    expect(text).toBe('Thirty days.');
    expect(sources).toMatchObject([{ sourceType: 'document', filename: 'leave.txt' }]);
  });

  it('the AI SDK sends a picture and a document', async () => {
    await run({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'file', data: PICTURE, mediaType: 'image/png' },
            { type: 'file', data: Buffer.from('%PDF-1.4'), mediaType: 'application/pdf', filename: 'a.pdf' },
          ],
        },
      ],
    });
    expect(context()).toMatchObject([
      { content: [{ type: 'input_text' }, { type: 'input_image' }, { type: 'input_file', filename: 'a.pdf' }] },
    ]);
  });
});

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('the AI SDK', () => {
  it('the AI SDK reads structured output', async () => {
    service.provider.reply(...say('{"left":3}'));
    const output = Output.object({ schema: z.object({ left: z.int() }) });
    const { output: read } = await generateText({ model: model(), prompt: 'How many?', output });
    expect(read).toEqual({ left: 3 });
  });

  it('the AI SDK continues a response and a conversation', async () => {
    service.provider
      .reply(...say('One.'))
      .reply(...say('Two.'))
      .reply(...say('Three.'))
      .reply(...say('Four.'));
    const first = await generateText({ model: model(), prompt: 'Count.' });
    const previousResponseId = first.finalStep.providerMetadata?.['openai']?.['responseId'] as string;
    await generateText({ model: model(), prompt: 'On.', providerOptions: { openai: { previousResponseId } } });
    expect(context()).toHaveLength(3);
    const { id: conversation } = await service.client().conversations.create();
    for (const prompt of ['Count.', 'On.'])
      await generateText({ model: model(), prompt, providerOptions: { openai: { conversation } } });
    expect(context()).toHaveLength(3);
  });

  it('the AI SDK reads the summary of thoughts', async () => {
    service.provider.reply({ type: 'reasoning_summary', delta: 'I look.' }, ...say('Yes.'));
    const { finalStep, text } = await generateText({ model: model(), prompt: 'Is it?' });
    expect([finalStep.reasoningText, text]).toEqual(['I look.', 'Yes.']);
  });

  it('the AI SDK embeds texts', async () => {
    const { embeddings } = await embedMany({ model: provider().embeddingModel('m'), values: ['one', 'two'] });
    expect(embeddings).toHaveLength(2);
    expect(embeddings[0]).not.toEqual(embeddings[1]);
  });

  it('the AI SDK throws the error of a refused request with its status and words', async () => {
    const options = { openai: { previousResponseId: 'resp_unknown' } };
    const error: unknown = await generateText({
      model: model(),
      prompt: 'On.',
      maxRetries: 0,
      providerOptions: options,
    })
      .then(() => undefined)
      .catch((reason: unknown) => reason);
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 400, message: expect.stringContaining('resp_unknown') });
  });
});
