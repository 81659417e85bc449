import { gzipSync } from 'node:zlib';

import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { WebSearch, type WebPage } from '../../src/tools/web-search/index.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { FakeSite, send } from './fake-site.js';

const calm = new AbortController().signal;
const LIMIT = 200_000;

const site = await FakeSite.start({
  '/robots.txt': send(200, { 'content-type': 'text/plain' }, 'User-agent: antiphon\nDisallow: /private\n'),
  '/page': '<title>Page</title><body><p>Here.',
  '/private/page': '<body>Secret.',
  '/moved': send(302, { location: '/page' }),
  '/away': send(302, { location: '/private/page' }),
  '/around': send(302, { location: '/around' }),
  '/script': send(302, { location: 'file:///etc/passwd' }),
  '/text': send(200, { 'content-type': 'text/plain; charset=utf-8' }, 'Plain.'),
  '/image': send(200, { 'content-type': 'image/png' }, 'x'),
  '/long': send(200, { 'content-type': 'text/html' }, `<body>${'x'.repeat(LIMIT)}`),
  '/bomb': send(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }, gzipSync('x'.repeat(20 * LIMIT))),
  '/endless': (_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' });
    const more = (): void => {
      while (answer.write('x'.repeat(65_536)));
    };
    answer.on('drain', more);
    more();
  },
  '/tables': `<body>${'<table><tr><td>'.repeat(500)}deep`,
  '/gone': send(410, {}),
});

const environment = {
  WEB_SEARCH: 'searxng',
  WEB_SEARCH_URL: 'http://127.0.0.1:9',
  WEB_SEARCH_PAGE_BYTES: LIMIT,
  WEB_SEARCH_TIMEOUT_MS: 120_000,
  DOCUMENT_TIMEOUT_MS: 120_000,
};
const open = useService(
  () =>
    startService({ providers: [ScriptedProvider], environment: { ...environment, WEB_SEARCH_PAGES: 'any' } }) as never,
);
const closed = useService(() => startService({ providers: [ScriptedProvider], environment }) as never);

afterAll(() => site.close());

beforeEach(() => {
  site.requests.length = 0;
});

function read(url: string, service: typeof open = open): Promise<WebPage> {
  return service.app.get(WebSearch, { strict: false }).open(url, { tenant: 'a', signal: calm, isLive: true });
}

describe('a page that a model opens', () => {
  it('a page that a model opens is read behind redirects, once within some minutes, under both of its URLs', async () => {
    expect(await read(`${site.url}/moved`)).toMatchObject({ url: `${site.url}/page`, title: 'Page', text: 'Here.' });
    await read(`${site.url}/page`);
    await read(`${site.url}/moved`);
    expect(site.requests.filter((path) => path !== '/robots.txt')).toEqual(['/moved', '/page']);
  });

  it('a page that a model opens may be plain text', async () => {
    expect(await read(`${site.url}/text`)).toMatchObject({ title: null, text: 'Plain.' });
  });

  it.each([
    ['/private/page', 'robots.txt does not let'],
    ['/away', 'robots.txt does not let'],
    ['/around', 'more than 5 redirects'],
    ['/script', 'not one of http or https'],
    ['/image', "of the type 'image/png'"],
    ['/long', 'more than 200000 bytes'],
    ['/bomb', 'more than 200000 bytes'],
    ['/endless', 'more than 200000 bytes'],
    ['/gone', 'has answered 410'],
  ])('a page that a model opens is not read: %s', async (path, fault) => {
    await expect(read(`${site.url}${path}`)).rejects.toMatchObject({
      name: 'WebSearchError',
      message: expect.stringContaining(fault),
    });
  });

  it('a page that a model opens is not asked for where robots.txt forbids it', async () => {
    await expect(read(`${site.url}/private/page`)).rejects.toThrow();
    expect(site.requests).not.toContain('/private/page');
  });

  it('a page that a model opens is read in a thread, so that the service goes on', async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    await read(`${site.url}/tables`).catch(() => undefined);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it('a page that a model opens stops with the turn', async () => {
    const stop = new AbortController();
    const web = open.app.get(WebSearch, { strict: false });
    const reading = web.open(`${site.url}/page?other`, { tenant: 'a', signal: stop.signal, isLive: true });
    stop.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });
});

describe('a page within the network of the service', () => {
  it.each([
    `${site.url}/page`,
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://0x7f000001/',
    'http://user:password@example.com/',
    'file:///etc/passwd',
  ])('a page within the network of the service is not asked for: %s', async (url) => {
    await expect(read(url, closed)).rejects.toMatchObject({ name: 'WebSearchError' });
    expect(site.requests).toEqual([]);
  });
});
