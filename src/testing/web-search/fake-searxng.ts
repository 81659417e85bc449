import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A result as SearXNG gives it. */
export interface FakeSearchResult {
  readonly title: string;
  readonly url: string;
  /** What it shows of the page. */
  readonly content?: string;
  readonly publishedDate?: string;
  /** Of the category `images`. */
  readonly img_src?: string;
}

/** A search that has arrived. */
export interface FakeSearch {
  readonly query: string;
  /** `general` or `images`. */
  readonly categories: string;
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the client does not wait any more, or has its answer. */
  readonly signal: AbortSignal;
}

/** Answers a search; an HTTP status in place of results is an error. */
export type FakeSearchAnswer = (search: FakeSearch) => readonly FakeSearchResult[] | number | Promise<never>;

/** A SearXNG for tests of web search, on a free port of this machine: `WEB_SEARCH=searxng`, `WEB_SEARCH_URL` its `url`. */
export class FakeSearxng implements AsyncDisposable {
  /** All searches, the first first. */
  readonly searches: FakeSearch[] = [];
  private readonly waiting = new Set<() => void>();

  private constructor(
    /** How searches are answered. A promise that never settles is an engine that hangs. */
    public answer: FakeSearchAnswer,
    private readonly server: Server,
  ) {}

  /** Starts an engine that finds these results for every query. */
  static async start(found: readonly FakeSearchResult[] | FakeSearchAnswer = []): Promise<FakeSearxng> {
    const server = createServer();
    const fake = new FakeSearxng(typeof found === 'function' ? found : () => found, server);
    server.on('request', ({ url = '', headers }, answer) => void fake.respond(url, headers, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when `count` searches have arrived. */
  async searched(count = 1): Promise<void> {
    while (this.searches.length < count) await new Promise<void>((resolve) => this.waiting.add(resolve));
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async respond(target: string, headers: IncomingHttpHeaders, answer: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(target, this.url);
    if (pathname !== '/search' || searchParams.get('format') !== 'json') {
      answer.writeHead(404).end();
      return;
    }
    const gone = new AbortController();
    answer.on('close', () => gone.abort());
    const search = {
      query: searchParams.get('q') ?? '',
      categories: searchParams.get('categories') ?? 'general',
      headers,
      signal: gone.signal,
    };
    this.searches.push(search);
    for (const wake of this.waiting) wake();
    this.waiting.clear();
    const found = await this.answer(search);
    if (typeof found === 'number') {
      answer.writeHead(found).end();
      return;
    }
    const body = { query: search.query, number_of_results: found.length, results: found, answers: [], suggestions: [] };
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}
