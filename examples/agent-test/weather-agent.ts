import { Agent, Runner, tool } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import OpenAI from 'openai';
import { z } from 'zod';

/** The agent under test: answers questions about the weather with a tool. */
export class WeatherAgent {
  readonly asked: string[] = [];
  private readonly runner: Runner;

  constructor(baseURL: string) {
    const openAIClient = new OpenAI({ baseURL, apiKey: 'unused' });
    this.runner = new Runner({
      modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }),
      tracingDisabled: true,
    });
  }

  async answer(question: string): Promise<string> {
    const forecast = tool({
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => {
        this.asked.push(city);
        return 'sunny, 24 °C';
      },
    });
    const agent = new Agent({ name: 'Weather', model: 'weather', tools: [forecast] });
    const { finalOutput } = await this.runner.run(agent, question);
    return String(finalOutput);
  }
}
