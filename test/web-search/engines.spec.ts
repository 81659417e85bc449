import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import {
  type EngineOptions,
  type EnginePage,
  EnvironmentError,
  type SearchQuery,
  type SearchResult,
  WebSearchEngine,
} from '../../src/index.js';
import { FakeMcpServer, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { type Found, WebSearch } from '../../src/tools/web-search/index.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, type ServiceOptions, startService } from '../support/service.js';
import { FakeApi } from './fake-api.js';

const QUERY: SearchQuery = {
  text: 'bees',
  most: 8,
  allowedDomains: [],
  blockedDomains: ['spam.example'],
  location: { country: 'at', city: 'Graz' },
  images: false,
};
const calm = new AbortController().signal;

const api = await FakeApi.start();
const searxng = await FakeSearxng.start([{ title: 'A', url: 'https://a.example/', content: 'a' }]);
const services: Service[] = [];

async function start(environment: object, others: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ environment: { ...environment }, providers: [ScriptedProvider], ...others });
  services.push(service);
  return service;
}

const webOf = ({ app }: Service): WebSearch => app.get(WebSearch, { strict: false });
const find = (service: Service, query: Partial<SearchQuery> = {}, tenant = 'acme'): Promise<Found> =>
  webOf(service).search({ ...QUERY, ...query }, { tenant, signal: calm });

beforeEach(() => {
  api.asked.length = 0;
  searxng.answer = () => [{ title: 'A', url: 'https://a.example/', content: 'a' }];
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.close()));
  await api.close();
  await searxng.close();
});

describe('an engine of WEB_SEARCH', () => {
  it.each([
    [
      'has found nothing, as its own engines are silent',
      'searxng',
      false,
      { results: [], unresponsive_engines: [['google', 'timeout']] },
    ],
    ['has no results in its answer', 'searxng', false, { error: 'Rate limit' }],
    ['has no images in its answer, as Brave', 'brave', true, { error: 'Rate limit' }],
    ['has no images in its answer, as Tavily', 'tavily', true, { error: 'Rate limit' }],
  ])('an engine of WEB_SEARCH has failed that %s', async (_name, engine, images, answer) => {
    const service = await start({ WEB_SEARCH: engine, WEB_SEARCH_URL: api.url, WEB_SEARCH_KEY: 'secret' });
    api.answer = answer;
    expect(await find(service, { images })).toEqual({
      results: [],
      requests: 1,
      error: expect.stringContaining('no search engine'),
    });
    api.answer = { results: [], unresponsive_engines: [] };
    expect(await find(service, { images })).toEqual({ results: [], requests: 1, error: null });
  });

  it('an engine of WEB_SEARCH cannot have the service cite what is no link', async () => {
    const service = await start({ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: api.url });
    const odd = ['javascript:alert(1)', '/relative', 'data:text/html,x', '', null];
    const results = [...odd, 'https://bücher.example/ä'].map((url) => ({ title: 'T', url, content: 'c' }));
    api.answer = { results };
    const urls = (await find(service)).results.map(({ url }) => url);
    expect(urls).toEqual(['', '', '', '', '', 'https://bücher.example/ä']);
  });

  it('an engine of WEB_SEARCH may be Brave', async () => {
    const service = await start({ WEB_SEARCH: 'brave', WEB_SEARCH_URL: api.url, WEB_SEARCH_KEY: 'secret' });
    api.answer = {
      web: {
        results: [
          {
            title: 'T',
            url: 'https://t.example/',
            description: 'One.',
            extra_snippets: ['Two.'],
            page_age: '2026-01-01',
          },
        ],
      },
    };
    expect(await find(service)).toEqual({
      results: [{ title: 'T', url: 'https://t.example/', text: 'One.\nTwo.', published: '2026-01-01' }],
      requests: 1,
      error: null,
    });
    expect(api.asked).toMatchObject([
      {
        method: 'GET',
        path: '/base/web/search',
        query: { q: 'bees -site:spam.example', count: '8', country: 'AT', extra_snippets: 'true' },
        headers: { 'x-subscription-token': 'secret' },
      },
    ]);
    api.answer = {
      results: [{ title: 'T', url: 'https://t.example/', properties: { url: 'https://t.example/1.png' } }],
    };
    expect((await find(service, { images: true })).results).toMatchObject([{ image: 'https://t.example/1.png' }]);
    expect(api.asked[1]?.path).toBe('/base/images/search');
  });

  it('an engine of WEB_SEARCH may be Tavily', async () => {
    const service = await start({ WEB_SEARCH: 'tavily', WEB_SEARCH_URL: api.url, WEB_SEARCH_KEY: 'secret' });
    api.answer = {
      results: [{ title: 'T', url: 'https://t.example/', content: 'One.', published_date: '2026' }],
      images: [{ url: 'https://t.example/1.png', description: 'A bee' }],
    };
    expect((await find(service)).results).toEqual([
      { title: 'T', url: 'https://t.example/', text: 'One.', published: '2026' },
    ]);
    expect(api.asked).toMatchObject([
      {
        method: 'POST',
        path: '/base/search',
        headers: { authorization: 'Bearer secret' },
        body: {
          query: 'bees',
          max_results: 8,
          exclude_domains: ['spam.example'],
          country: 'austria',
          include_images: false,
        },
      },
    ]);
    expect((await find(service, { images: true })).results).toMatchObject([
      { title: 'A bee', image: 'https://t.example/1.png' },
    ]);
  });

  it('an engine of WEB_SEARCH may be a tool of an MCP server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-web-'));
    const results = [{ title: 'T', link: 'https://t.example/', snippet: 'One.' }];
    const server = await FakeMcpServer.start([
      { name: 'other' },
      {
        name: 'web_search',
        handler: ({ args }) => (args['query'] === 'plain' ? 'Text.' : JSON.stringify({ results })),
      },
    ]);
    try {
      const path = join(folder, 'servers.json');
      await writeFile(path, JSON.stringify({ servers: { find: { url: server.url } } }));
      const service = await start({ WEB_SEARCH: 'mcp:find', MCP_SERVERS: path });
      const query = { blockedDomains: [] };
      expect((await find(service, query)).results).toEqual([{ title: 'T', url: 'https://t.example/', text: 'One.' }]);
      expect((await find(service, { ...query, text: 'plain' })).results).toEqual([
        { title: '', url: '', text: 'Text.' },
      ]);
      const named = await start({ WEB_SEARCH: 'mcp:find/none', MCP_SERVERS: path });
      expect(await find(named, query)).toMatchObject({
        results: [],
        error: expect.stringContaining('no search engine'),
      });
      expect(webOf(named).conditions()).toEqual([{ name: 'mcp:find', error: 'It has no tool named none.' }]);
    } finally {
      await server.close();
      await rm(folder, { recursive: true });
    }
  });

  it('an engine of WEB_SEARCH may be the simulator, with what its scripts say', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-web-'));
    try {
      const path = join(folder, 'm.yaml');
      await writeFile(
        path,
        'web:\n  - { query: Bee, results: [{ title: Bees, url: "https://bees.example/" }] }\n  - { query: wasp, error: Away. }\nturns: [{ text: x }]\n',
      );
      const { app } = await start(
        { WEB_SEARCH: 'simulator', SIMULATOR_SCRIPTS: path },
        {
          providers: undefined,
        },
      );
      const web = app.get(WebSearch, { strict: false });
      const ask = (words: string): Promise<Found> =>
        web.search({ ...QUERY, text: words }, { tenant: 'a', signal: calm });
      expect((await ask('all bees')).results).toEqual([{ title: 'Bees', url: 'https://bees.example/', text: '' }]);
      expect(await ask('wasps')).toMatchObject({
        results: [],
        error: expect.stringContaining('could not be searched'),
      });
      const [made] = (await ask('ants')).results;
      expect(made).toEqual({
        title: 'ants (1)',
        url: 'https://example.com/ants/1',
        text: 'Simulated result 1 for: ants',
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    [{ WEB_SEARCH: 'bing' }, "'bing' is none of searxng, brave, tavily, mcp:<server>, simulator"],
    [{ WEB_SEARCH: 'searxng' }, 'searxng needs WEB_SEARCH_URL'],
    [{ WEB_SEARCH: 'brave' }, 'brave needs WEB_SEARCH_KEY'],
    [{ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: 'ftp://x' }, 'WEB_SEARCH_URL must be http or https'],
    [{ WEB_SEARCH: 'mcp:find' }, 'mcp:<server> needs MCP_SERVERS'],
    [{ WEB_SEARCH: 'simulator' }, 'simulator needs the simulator among the providers'],
  ])('an engine of WEB_SEARCH stops the start with %j', async (environment, fault) => {
    await expect(start(environment)).rejects.toEqual(new EnvironmentError([`WEB_SEARCH: ${fault}.`]));
  });
});

describe('several engines', () => {
  it('several engines are asked in order until one answers; one that has failed comes last for a while, and is seen', async () => {
    searxng.answer = () => 403;
    api.answer = { web: { results: [{ title: 'B', url: 'https://b.example/', description: 'b' }] } };
    const service = await start({
      WEB_SEARCH: 'searxng,brave',
      WEB_SEARCH_URL: `${searxng.url},${api.url}`,
      WEB_SEARCH_KEY: ',secret',
      METRICS: true,
    });
    using log = ServiceLog.begin();
    expect(await find(service)).toMatchObject({ requests: 2, results: [{ title: 'B' }], error: null });
    const reason = "It has answered 403. Its settings.yml must have 'json' among search.formats.";
    expect(log.complaints).toContainEqual(expect.stringContaining(`the engine searxng has failed a search: ${reason}`));
    expect(await find(service)).toMatchObject({ requests: 1 });
    expect(await (await fetch(`${service.origin}/readyz?verbose`)).json()).toMatchObject({
      search_engines: [
        { name: 'searxng', error: reason },
        { name: 'brave', error: null },
      ],
    });
    const metrics = await (await fetch(`${service.origin}/metrics`)).text();
    expect(metrics.split('\n').filter((line) => line.startsWith('antiphon_web_requests_total'))).toEqual([
      'antiphon_web_requests_total{engine="searxng",kind="search",outcome="failed"} 1',
      'antiphon_web_requests_total{engine="brave",kind="search",outcome="ok"} 2',
    ]);
  });

  it('several engines go on without one that does not answer', async () => {
    searxng.answer = () => new Promise<never>(() => undefined);
    const service = await start({ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: searxng.url, WEB_SEARCH_TIMEOUT_MS: 20 });
    expect(await find(service)).toMatchObject({
      results: [],
      error: expect.stringContaining('no search engine has answered'),
    });
    expect(webOf(service).conditions()).toEqual([{ name: 'searxng', error: 'It did not answer within 20 ms.' }]);
  });
});

/** An engine of a program, which has pages of its own. */
class OwnEngine extends WebSearchEngine {
  override readonly name = 'own';
  readonly tenants: string[] = [];

  override search({ text: words }: SearchQuery, { tenant }: EngineOptions): Promise<readonly SearchResult[]> {
    this.tenants.push(tenant);
    if (words === 'fail') throw new Error('password of 10.0.0.1 is hush');
    return Promise.resolve([{ title: words, url: 'https://own.example/', text: words }]);
  }

  override open(url: string): Promise<EnginePage | undefined> {
    return Promise.resolve(url === 'https://own.example/' ? { title: 'Own', text: 'Kept.' } : undefined);
  }
}

describe('an engine of the program', () => {
  it('an engine of the program searches for each tenant, and opens the pages that it has', async () => {
    const own = new OwnEngine();
    const service = await start({ WEB_SEARCH_PAGES: 'none' }, { webSearchEngines: [{ useValue: own }] });
    expect((await find(service, {}, 'b')).results).toMatchObject([{ title: 'bees' }]);
    expect(own.tenants).toEqual(['b']);
    const open = (url: string): Promise<unknown> =>
      webOf(service).open(url, { tenant: 'b', signal: calm, isLive: true });
    expect(await open('https://own.example/')).toEqual({ url: 'https://own.example/', title: 'Own', text: 'Kept.' });
    await expect(open('https://other.example/')).rejects.toThrow('does not fetch pages (WEB_SEARCH_PAGES)');
    expect(await find(service, { text: 'fail' })).toMatchObject({ error: expect.not.stringContaining('hush') });
  });
});

describe('the searches of a tenant', () => {
  it('the searches of a tenant are limited by the minute, each tenant for itself', async () => {
    const service = await start({ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: searxng.url, WEB_SEARCH_PER_MINUTE: 2 });
    expect(await find(service)).toMatchObject({ error: null });
    expect(await find(service)).toMatchObject({ error: null });
    expect(await find(service)).toEqual({
      results: [],
      requests: 0,
      error: expect.stringContaining('too many searches'),
    });
    expect(await find(service, {}, 'other')).toMatchObject({ error: null });
  });

  it('the searches of a tenant are limited by a rule of LIMITS_FILE', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-web-'));
    try {
      const path = join(folder, 'limits.yaml');
      await writeFile(path, 'limits: [{ tenant: "trial-*", searches_per_minute: 1 }]');
      const service = await start({ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: searxng.url, LIMITS_FILE: path });
      expect(await find(service, {}, 'trial-1')).toMatchObject({ error: null });
      expect(await find(service, {}, 'trial-1')).toMatchObject({ error: expect.stringContaining('too many searches') });
      for (let n = 0; n < 3; n++) expect(await find(service, {}, 'acme')).toMatchObject({ error: null });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
