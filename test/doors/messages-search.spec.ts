import { afterAll, describe, expect, it } from '@jest/globals';

import { FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { say, search } from '../support/scripted-calls.js';
import { anthropic, HELLO } from './anthropic.js';

const FOUND = [{ title: 'Bees', url: 'https://bees.example/', content: 'Bees dance.' }];
const engine = await FakeSearxng.start(FOUND);

afterAll(() => engine.close());

const service = useService({
  environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url },
  providers: [ScriptedProvider],
});

const SEARCH = { type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 3 };

describe("Anthropic's search of the web", () => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])(
    "Anthropic's search of the web is made by the service, and not seen in an answer that is %s",
    async (_, stream) => {
      engine.searches.length = 0;
      service.provider.reply(...search('bee dance')).reply(...say('They dance.'));
      const request = {
        ...HELLO,
        tools: [{ ...SEARCH, blocked_domains: ['wasps.example'] }],
        tool_choice: { type: 'tool' as const, name: 'web_search' },
      };
      const { messages } = anthropic(service);
      const message = await (stream ? messages.stream(request).finalMessage() : messages.create(request));
      expect(message).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text', text: 'They dance.' }] });
      expect(engine.searches.map(({ query }) => query)).toEqual([expect.stringContaining('bee dance')]);
      expect(service.provider.turns.at(-1)?.settings.max_tool_calls).toBe(3);
    },
  );
});
