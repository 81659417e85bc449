import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from '@jest/globals';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, type LanguageModel, Output, streamText, tool } from 'ai';
import { z } from 'zod';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { call, say } from '../support/scripted-calls.js';

const service = useService({ providers: [ScriptedProvider], environment: { UNKNOWN_PARAMETERS: 'reject' } });

const connection = () => ({ baseURL: service.baseURL, apiKey: 'unused' });

/** What the model read last. */
const context = () => service.provider.turns.at(-1)?.context ?? [];

const WEATHER = {
  description: 'Tells the weather in a city.',
  schema: z.object({ city: z.string() }),
  run: ({ city }: { readonly city: string }): string => `Sunny in ${city}.`,
};

/** A model that looks at the weather, and then says how it is. */
const lookAtWeather = (): void => {
  service.provider.reply(...call('weather', { city: 'Oslo' })).reply(...say('It is ', 'sunny.'));
};

const LOOKED = [
  { role: 'user' },
  { type: 'function_call', name: 'weather', arguments: '{"city":"Oslo"}' },
  { type: 'function_call_output' },
];

describe.each<[name: string, model: (name?: string) => LanguageModel]>([
  ['Chat Completions', (name = 'gpt-5') => createOpenAI(connection()).chat(name)],
  ['Messages', (name = 'claude-sonnet-4-5') => createAnthropic(connection())(name)],
])('the AI SDK, by its provider of %s', (_, model) => {
  const options = () => ({
    ...{ model: model(), prompt: 'How is the weather in Oslo?', maxRetries: 0, stopWhen: isStepCount(3) },
    tools: {
      weather: tool({ description: WEATHER.description, inputSchema: WEATHER.schema, execute: WEATHER.run }),
    },
  });

  it('the AI SDK runs a tool and reads the answer whole', async () => {
    lookAtWeather();
    const { text, steps } = await generateText(options());
    expect(text).toBe('It is sunny.');
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(context()).toMatchObject(LOOKED);
    expect(JSON.stringify(context())).toContain('Sunny in Oslo.');
  });

  it('the AI SDK runs a tool and reads the answer as a stream', async () => {
    lookAtWeather();
    const stream = streamText(options());
    expect(await Array.fromAsync(stream.textStream)).toEqual(['It is ', 'sunny.']);
    expect((await stream.finalStep).usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    expect(context()).toMatchObject(LOOKED);
  });

  it('the AI SDK throws the error of a refused request with its status', async () => {
    const refused = generateText({ model: model('m'.repeat(1025)), prompt: 'Hi', maxRetries: 0 });
    await expect(refused).rejects.toMatchObject({ name: 'AI_APICallError', statusCode: 400 });
  });
});

describe('the AI SDK, by its provider of Chat Completions', () => {
  it('the AI SDK reads structured output', async () => {
    service.provider.reply(...say('{"left":3}'));
    const output = Output.object({ schema: z.object({ left: z.int() }) });
    const model = createOpenAI(connection()).chat('gpt-5');
    expect((await generateText({ model, prompt: 'How many?', output })).output).toEqual({ left: 3 });
  });
});

describe('LangChain, by Chat Completions', () => {
  const model = () => {
    const { baseURL, apiKey } = connection();
    return new ChatOpenAI({ apiKey, model: 'm', maxRetries: 0, configuration: { baseURL } });
  };
  const weather = langChainTool(WEATHER.run, { name: 'weather', ...WEATHER });

  it('LangChain runs a tool and reads the answer whole', async () => {
    lookAtWeather();
    const asked = model().bindTools([weather]);
    const question = new HumanMessage('How is the weather in Oslo?');
    const first = await asked.invoke([question]);
    const result = (await weather.invoke(first.tool_calls?.[0] as never)) as ToolMessage;
    const answer = await asked.invoke([question, first, result]);
    expect(answer.text).toBe('It is sunny.');
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    expect(context()).toMatchObject(LOOKED);
  });

  it('LangChain reads an answer as a stream', async () => {
    service.provider.reply(...say('Hel', 'lo.'));
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await model().stream('Say hello.')) whole = whole?.concat(chunk) ?? chunk;
    expect(whole?.text).toBe('Hello.');
    expect(whole?.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5 });
  });

  it('LangChain reads structured output', async () => {
    service.provider.reply(...say('{"left":3}'));
    const stock = model().withStructuredOutput(z.object({ left: z.int() }), { method: 'jsonSchema', name: 'stock' });
    expect(await stock.invoke('How many?')).toEqual({ left: 3 });
  });
});
