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
    "Anthropic's search of the web is made by the service, and shown with what the text cites in an answer that is %s",
    async (_, stream) => {
      engine.searches.length = 0;
      service.provider.reply(...search('bee dance')).reply(...say('They da', 'nce【1】.'));
      const request = {
        ...HELLO,
        tools: [{ ...SEARCH, blocked_domains: ['wasps.example'] }],
        tool_choice: { type: 'tool' as const, name: 'web_search' },
      };
      const { messages } = anthropic(service);
      const message = await (stream ? messages.stream(request).finalMessage() : messages.create(request));
      const [use] = message.content as readonly { readonly id?: string }[];
      expect(message.content).toEqual([
        {
          type: 'server_tool_use',
          id: expect.stringMatching(/^srvtoolu_[0-9a-f]{32}$/),
          name: 'web_search',
          input: { query: 'bee dance' },
          caller: { type: 'direct' },
        },
        {
          type: 'web_search_tool_result',
          tool_use_id: use?.id,
          content: [
            {
              type: 'web_search_result',
              url: 'https://bees.example/',
              title: 'Bees',
              encrypted_content: '',
              page_age: null,
            },
          ],
          caller: { type: 'direct' },
        },
        {
          type: 'text',
          text: 'They dance.',
          citations: [
            {
              type: 'web_search_result_location',
              url: 'https://bees.example/',
              title: 'Bees',
              cited_text: 'They dance',
              encrypted_index: '',
            },
          ],
        },
      ]);
      expect(message).toMatchObject({
        stop_reason: 'end_turn',
        usage: { server_tool_use: { web_search_requests: 1 } },
      });
      expect(engine.searches.map(({ query }) => query)).toEqual([expect.stringContaining('bee dance')]);
      expect(service.provider.turns.at(-1)?.settings.max_tool_calls).toBe(3);
    },
  );

  it("Anthropic's search of the web that fails is a result with an error", async () => {
    engine.answer = () => 500;
    service.provider.reply(...search('bee dance')).reply(...say('I do not know.'));
    const message = await anthropic(service).messages.create({ ...HELLO, tools: [SEARCH] });
    engine.answer = () => FOUND;
    expect(message.content).toMatchObject([
      { type: 'server_tool_use' },
      { content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } },
      { text: 'I do not know.', citations: null },
    ]);
  });

  it("Anthropic's search of the web may be sent back with its answer", async () => {
    service.provider.reply(...search('bee dance')).reply(...say('They dance【1】.'));
    const { messages } = anthropic(service);
    const { content } = await messages.create({ ...HELLO, tools: [SEARCH] });
    service.provider.reply(...say('Yes.'));
    const sent = [
      ...HELLO.messages,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: 'So?' },
    ];
    await messages.create({ ...HELLO, messages: sent });
    const context = service.provider.turns.at(-1)?.context ?? [];
    expect(context.map(({ type, role }) => role ?? type)).toEqual(['user', 'assistant', 'user']);
    expect(JSON.stringify(context)).toContain('They dance.');
  });
});
