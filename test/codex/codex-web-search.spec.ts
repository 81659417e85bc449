import { afterAll, expect, it } from '@jest/globals';

import { FakeSearxng } from '../../src/testing/index.js';
import { messagesIn, ROADS } from './roads.js';
import { Stack } from './stack.js';

const engine = await FakeSearxng.start([{ title: 'Tides', url: 'https://tides.example/', content: 'High at nine.' }]);

afterAll(() => engine.close());

it.each(ROADS.filter(({ services }) => services === 1))(
  'Codex $name gets what its model has searched for',
  async (road) => {
    engine.searches.length = 0;
    const environment = { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url };
    await using stack = await Stack.open({ ...road, environment });
    await using codex = await stack.codex();
    const call = { id: 'call_1', name: 'web_search', arguments: '{"queries":["tide today"]}' };
    stack.model.answer({ toolCalls: [call] }).answer({ text: 'High at nine【1】.' });
    const run = await codex.exec('When is high tide?', '-c', 'web_search="live"');
    expect(run).toMatchObject({ code: 0 });
    expect(messagesIn(run)).toEqual(['High at nine.']);
    expect(engine.searches.map(({ query }) => query)).toEqual(['tide today']);
    expect(stack.lastRequest.body.messages?.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('High at nine.'),
    });
    expect(codex.strayed).toEqual([]);
  },
);
