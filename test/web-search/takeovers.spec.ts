import { afterAll, expect, it } from '@jest/globals';

import { checkEventOrder, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { useService } from '../support/describe-service.js';

const engine = await FakeSearxng.start([{ title: 'Tides', url: 'https://tides.example/', content: 'High at nine.' }]);
afterAll(() => engine.close());

const service = useService({
  providers: [ScriptedProvider],
  environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url },
});

it('a background turn whose process dies goes on from wherever its log ends, with what it has found', async () => {
  // The model searches until it knows what was found.
  service.provider.otherwise(async function* ({ context }) {
    const knows = context.some(({ type }) => type === 'function_call_output');
    if (knows) yield { type: 'text', delta: 'High at nine【1】.' };
    else {
      yield { type: 'function_call', name: 'web_search', key: 'call' };
      yield { type: 'function_call_arguments', delta: '{"queries":["tide"]}', key: 'call' };
    }
    yield { type: 'usage', input: 1, output: 1 };
    yield { type: 'finish', reason: 'stop' };
  });
  const whole = await BackgroundLog.queue(service, { tools: [{ type: 'web_search' }] as never }).run();
  expect(whole.response).toMatchObject({ status: 'completed', tool_usage: { web_search: { num_requests: 1 } } });
  // The first two are stored with the response.
  for (let length = 2; length < whole.entries.length; length++) {
    const before = whole.cut(length);
    // The end of a pass is stored together with what follows it.
    if (before.entries.at(-1)?.type === 'finish') continue;
    const searched = engine.searches.length;
    const { response, wire } = await before.run();
    expect(response).toMatchObject({ status: 'completed' });
    checkEventOrder(wire, { transport: 'ws' });
    const items = response.output as unknown as readonly Readonly<Record<string, unknown>>[];
    const calls = items.filter(({ type }) => type === 'web_search_call');
    expect(calls.every(({ status }) => status === 'completed')).toBe(true);
    const [part] = items.at(-1)?.['content'] as readonly Readonly<Record<string, unknown>>[];
    expect(part).toMatchObject({ text: 'High at nine.', annotations: [{ url: 'https://tides.example/' }] });
    // A search whose outcome was not stored is made again, once.
    const made = engine.searches.length - searched;
    expect(made).toBeLessThanOrEqual(1);
    expect(calls.length).toBeGreaterThan(0);
    // Each counts, by whichever process it was made.
    expect(response.tool_usage.web_search.num_requests).toBeGreaterThanOrEqual(calls.length);
  }
});
