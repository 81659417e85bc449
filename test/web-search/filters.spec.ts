import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import type { Refusal } from '../support/transport.js';
import { JSON_TRANSPORT } from '../support/transports.js';
import { FakeSite } from './fake-site.js';
import { BODY, call, lastOutput, say, search } from '../support/scripted-calls.js';
import type { Members } from '../support/output.js';

const site = await FakeSite.start({ '/bees': '<title>Bees</title><body><p>Bees dance.' });
const engine = await FakeSearxng.start();

afterAll(async () => {
  await engine.close();
  await site.close();
});

const service = useService(
  () =>
    startService({
      providers: [ScriptedProvider],
      environment: { WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url, WEB_SEARCH_PAGES: 'any' },
    }) as never,
);

beforeEach(() => {
  service.provider.turns.length = 0;
  engine.searches.length = 0;
});

describe('the members of web_search', () => {
  it('web_search filters by domains, whatever the engine does with them', async () => {
    const filters = { allowed_domains: ['EXAMPLE.com', 'wasps.example'], blocked_domains: ['x.example.com'] };
    engine.answer = () => [
      { title: 'a', url: 'https://a.example.com/' },
      { title: 'b', url: 'https://x.example.com/' },
      { title: 'c', url: 'https://notexample.com/' },
    ];
    service.provider.reply(...search('bees'), ...call('web_open_page', { url: `${site.url}/bees` })).reply(...say('x'));
    await JSON_TRANSPORT.run(service, { ...BODY, tools: [{ type: 'web_search', filters }] });
    expect(engine.searches[0]?.query).toBe('bees (site:example.com OR site:wasps.example) -site:x.example.com');
    const outputs = service.provider.turns.at(-1)?.context.filter(({ type }) => type === 'function_call_output') ?? [];
    // As they come to their ends.
    expect(outputs.map(({ output }) => JSON.parse(String(output)) as Members).reverse()).toMatchObject([
      { results: [{ title: 'a' }] },
      { error: expect.stringContaining('not among those that are allowed') },
    ]);
  });

  it.each([
    ['behind a redirect', { allowed_domains: ['127.0.0.1'] }, '/away'],
    ['that was read before behind a redirect', { allowed_domains: ['127.0.0.1'] }, '/away'],
    ['with a dot behind its name', { blocked_domains: ['localhost'] }, 'http://localhost./'],
    ['in its other form', { blocked_domains: ['b\u00fccher.example'] }, 'https://xn--bcher-kva.example/'],
  ])('web_search opens no page of a domain that is not allowed: %s', async (_, filters, target) => {
    site.pages['/away'] = (_request, answer) =>
      void answer.writeHead(302, { location: site.url.replace('127.0.0.1', 'localhost') + '/bees' }).end();
    const url = new URL(target, site.url).href;
    service.provider.reply(...call('web_open_page', { url })).reply(...say('x'));
    await JSON_TRANSPORT.run(service, { ...BODY, tools: [{ type: 'web_search', filters }] });
    expect(lastOutput(service)).toMatchObject({ error: expect.stringContaining('not among those that are allowed') });
  });

  it('web_search reads no page that is not at hand without external web access', async () => {
    service.provider.reply(...call('web_open_page', { url: `${site.url}/new` })).reply(...say('x'));
    await JSON_TRANSPORT.run(service, { ...BODY, tools: [{ type: 'web_search', external_web_access: false }] });
    expect(lastOutput(service)).toMatchObject({
      error: expect.stringContaining('does not let the service fetch pages'),
    });
    expect(site.requests).not.toContain('/new');
  });

  it.each([
    [{ search_context_size: 'huge' }, 'tools[0].search_context_size'],
    [{ filters: { allowed_domains: ['https://example.com/a'] } }, 'tools[0].filters.allowed_domains[0]'],
    [{ filters: { blocked_domains: 'example.com' } }, 'tools[0].filters.blocked_domains'],
    [{ filters: [] }, 'tools[0].filters'],
    [{ external_web_access: 'no' }, 'tools[0].external_web_access'],
    [{ user_location: 'Graz' }, 'tools[0].user_location'],
    [{ return_token_budget: 0 }, 'tools[0].return_token_budget'],
    [{ search_content_types: ['video'] }, 'tools[0].search_content_types'],
    [{ filters: { allowed_domain: ['example.com'] } }, 'tools[0].filters.allowed_domain'],
    [{ user_location: { city: { toString: 1 } } }, 'tools[0].user_location.city'],
    [{ user_location: { timezone: 'x'.repeat(300) } }, 'tools[0].user_location.timezone'],
    [{ user_location: { country: 'Portugal' } }, 'tools[0].user_location.country'],
    [{ user_location: { type: 'exact' } }, 'tools[0].user_location.type'],
    [{ user_location: { type: 'approximate', contry: 'PT' } }, 'tools[0].user_location.contry'],
  ])('web_search is refused with %j', async (members, param) => {
    const run = JSON_TRANSPORT.run(service, { ...BODY, tools: [{ type: 'web_search', ...members }] });
    const refusal = await run.then(
      () => null,
      (error: unknown) => error as Refusal,
    );
    expect(refusal).toMatchObject({ status: 400, body: { error: { param, code: 'invalid_value' } } });
  });

  it('the members of web_search are those of one tool: another one that says the same is no fault, one that differs is refused', async () => {
    const run = (...tools: readonly object[]) => JSON_TRANSPORT.run(service, { ...BODY, tools });
    const [tool, other] = [{ type: 'web_search' }, { type: 'web_search', filters: { blocked_domains: ['a.example'] } }];
    service.provider.reply(...say('x'));
    expect((await run(tool, tool)).response).toMatchObject({ status: 'completed' });
    await expect(run(tool, other)).rejects.toMatchObject({ status: 400, body: { error: { param: 'tools[1]' } } });
  });
});
