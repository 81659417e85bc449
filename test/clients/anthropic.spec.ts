import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { ScriptedProvider } from '../../src/testing/index.js';
import { anthropic } from '../doors/anthropic.js';
import { useService } from '../support/describe-service.js';
import { call, say } from '../support/scripted-calls.js';

const service = useService({ providers: [ScriptedProvider] });

const ASKED = { model: 'm', max_tokens: 100, messages: [{ role: 'user' as const, content: 'How is it in Oslo?' }] };

describe("the helpers of Anthropic's SDK", () => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])(
    "the helpers of Anthropic's SDK run tools, with the whole conversation each time, as no thread is kept here: %s",
    async (_, stream) => {
      service.provider.reply(...call('weather', { city: 'Oslo' })).reply(...say('It is ', 'sunny.'));
      const weather = betaZodTool({
        name: 'weather',
        description: 'Tells the weather.',
        inputSchema: z.object({ city: z.string() }),
        run: ({ city }) => `Sunny in ${city}.`,
      });
      const runner = anthropic(service).beta.messages.toolRunner({ ...ASKED, tools: [weather], stream });
      expect((await runner.runUntilDone()).content).toMatchObject([{ text: 'It is sunny.' }]);
      expect(service.provider.turns.at(-1)?.context).toMatchObject([
        { role: 'user' },
        { type: 'function_call', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call_output', output: 'Sunny in Oslo.' },
      ]);
    },
  );

  it("the helpers of Anthropic's SDK parse structured output", async () => {
    service.provider.reply(...say('{"left":3}'));
    const format = zodOutputFormat(z.object({ left: z.int() }));
    const { parsed_output: parsed } = await anthropic(service).messages.parse({ ...ASKED, output_config: { format } });
    expect(parsed).toEqual({ left: 3 });
  });
});
