import { Agent, request } from 'undici';

import type { McpServers } from '../mcp/index.js';
import { readBounded } from '../../http/outbound/index.js';
import { isObject, listIn, objectsIn, parseJson } from '../../validation/index.js';
import { type EngineOptions, type SearchQuery, type SearchResult, WebSearchEngine, WebSearchError } from './engine.js';

/** What an engine of WEB_SEARCH is configured with. */
export interface EngineSettings {
  /** The base URL; empty for the default of the engine. */
  readonly url: string;
  /** The API key; empty without one. */
  readonly key: string;
  readonly userAgent: string;
}

/** Characters of a query that Brave takes. */
const BRAVE_QUERY = 400;

/** Bytes of an answer. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

/** Names of tools that search, of MCP servers whose tool is not named. */
const SEARCH_TOOLS = [
  'search',
  'web_search',
  'brave_web_search',
  'tavily_search',
  'tavily-search',
  'searxng_web_search',
];

interface EngineRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON with POST. */
  readonly body?: object;
}

/** An engine with an API over HTTP. */
interface HttpApi {
  /** Empty: it has no default. */
  readonly url: string;
  readonly needsKey: boolean;
  request(query: SearchQuery, settings: { readonly url: URL; readonly key: string }): EngineRequest;
  read(answer: Readonly<Record<string, unknown>>, images: boolean): readonly SearchResult[];
  /** Hints for the operator, by the status of the engine's answer. */
  readonly hints?: Readonly<Record<number, string>>;
}

const APIS = {
  /** https://docs.searxng.org/dev/search_api.html */
  searxng: {
    url: '',
    needsKey: false,
    request: (query, { url, key }) => {
      const target = below(url, 'search', {
        q: withSites(query),
        format: 'json',
        categories: query.images ? 'images' : 'general',
      });
      const headers: EngineRequest['headers'] = key === '' ? {} : { authorization: `Bearer ${key}` };
      return { url: target, headers };
    },
    read: ({ results, unresponsive_engines: silent }, images) => {
      const found = listOf(results);
      // It says so with HTTP 200: nobody knows whether there is anything to find.
      if (found.length === 0 && listIn(silent).length > 0) {
        throw new WebSearchError('It found nothing, and some of its engines did not answer.');
      }
      return found.map((each) => ({
        ...toResult(each, each['content']),
        published: textIn(each['publishedDate']),
        image: images ? textIn(each['img_src']) : undefined,
      }));
    },
    hints: { 403: "Its settings.yml must have 'json' among search.formats." },
  },
  /** https://api-dashboard.search.brave.com/app/documentation/web-search/get-started */
  brave: {
    url: 'https://api.search.brave.com/res/v1/',
    needsKey: true,
    request: (query, { url, key }) => {
      const { images, most, location } = query;
      const members = { q: withSites(query, BRAVE_QUERY), count: String(Math.min(most, 20)), ...countryIn(location) };
      const target = images
        ? below(url, 'images/search', members)
        : below(url, 'web/search', { ...members, extra_snippets: 'true' });
      return { url: target, headers: { 'x-subscription-token': key } };
    },
    read: (answer, images) => {
      if (images) {
        return listOf(answer['results']).map((each) => ({
          ...toResult(each, each['title']),
          image: textIn(isObject(each['properties']) ? each['properties'].url : undefined),
        }));
      }
      const web = isObject(answer['web']) ? answer['web'] : {};
      return objectsIn(web.results).map((each) => {
        const more = Array.isArray(each['extra_snippets']) ? each['extra_snippets'] : [];
        const text = [each['description'], ...(more as readonly unknown[])].map(textIn).filter(Boolean).join('\n');
        return { ...toResult(each, text), published: textIn(each['page_age']) };
      });
    },
  },
  /** https://docs.tavily.com/documentation/api-reference/endpoint/search */
  tavily: {
    url: 'https://api.tavily.com/',
    needsKey: true,
    request: ({ text, most, allowedDomains, blockedDomains, location, images }, { url, key }) => ({
      url: below(url, 'search', {}),
      headers: { authorization: `Bearer ${key}` },
      body: {
        query: text,
        max_results: Math.min(most, 20),
        include_domains: allowedDomains,
        exclude_domains: blockedDomains,
        include_images: images,
        include_image_descriptions: images,
        ...countryNameIn(location),
      },
    }),
    read: ({ results, images: found }, images) => {
      const pages = listOf(results);
      return images
        ? objectsIn(found).map(({ url, description }) => ({
            title: textIn(description) ?? '',
            url: textIn(url) ?? '',
            text: textIn(description) ?? '',
            image: textIn(url),
          }))
        : pages.map((each) => ({ ...toResult(each, each['content']), published: textIn(each['published_date']) }));
    },
  },
} as const satisfies Readonly<Record<string, HttpApi>>;

/** The names that WEB_SEARCH takes, beside `mcp:<server>`. */
const HTTP_ENGINES: readonly string[] = Object.keys(APIS);

/** What is missing for an engine; undefined if nothing is. */
export function faultOfEngine(name: string, { url, key }: Pick<EngineSettings, 'url' | 'key'>): string | undefined {
  const api: HttpApi | undefined = Object.hasOwn(APIS, name) ? APIS[name as keyof typeof APIS] : undefined;
  if (api === undefined) return `'${name}' is none of ${[...HTTP_ENGINES, 'mcp:<server>', 'simulator'].join(', ')}`;
  if (api.url === '' && url === '') return `${name} needs WEB_SEARCH_URL`;
  if (url !== '' && !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return 'WEB_SEARCH_URL must be http or https';
  return api.needsKey && key === '' ? `${name} needs WEB_SEARCH_KEY` : undefined;
}

/** An engine of the operator with an API over HTTP: `searxng`, `brave` or `tavily`. */
export class HttpEngine extends WebSearchEngine {
  private readonly api: HttpApi;
  private readonly settings: { readonly url: URL; readonly key: string };
  private readonly agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

  constructor(
    override readonly name: string,
    private readonly given: EngineSettings,
  ) {
    super();
    this.api = APIS[name as keyof typeof APIS];
    this.settings = { url: new URL(given.url === '' ? this.api.url : given.url), key: given.key };
  }

  override async search(query: SearchQuery, { signal }: EngineOptions): Promise<readonly SearchResult[]> {
    const { api, agent } = this;
    const { url, headers, body } = api.request(query, this.settings);
    const answer = await request(url, {
      dispatcher: agent,
      signal,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        'user-agent': this.given.userAgent,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.statusCode !== 200) {
      await answer.body.dump({ limit: LONGEST_ANSWER });
      const hint = api.hints?.[answer.statusCode];
      const isOfQuery = answer.statusCode === 400 || answer.statusCode === 422;
      const text = `It has answered ${answer.statusCode}.${hint === undefined ? '' : ` ${hint}`}`;
      throw new WebSearchError(text, undefined, isOfQuery);
    }
    const tooLong = (): Error => new WebSearchError('Its answer is too long.');
    const value = parseJson((await readBounded(answer.body, LONGEST_ANSWER, tooLong)).toString());
    if (!isObject(value)) throw new WebSearchError('Its answer is not JSON.');
    return api.read(value, query.images);
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/** A tool of an MCP server that searches. */
export class McpEngine extends WebSearchEngine {
  /** `tool`: empty for the first one that has a name of those that search. */
  constructor(
    private readonly servers: McpServers,
    private readonly server: string,
    private readonly tool: string,
  ) {
    super();
  }

  override get name(): string {
    return `mcp:${this.server}`;
  }

  override async search(query: SearchQuery, { signal, tenant }: EngineOptions): Promise<readonly SearchResult[]> {
    const param = { type: 'mcp', server_label: this.server } as const;
    const server = this.servers.find(param, tenant, 'tools');
    const tools = (await server.list(signal)).map(({ name }) => name);
    const names = this.tool === '' ? SEARCH_TOOLS : [this.tool];
    const tool = names.find((name) => tools.includes(name));
    if (tool === undefined) throw new WebSearchError(`It has no tool named ${names.join(', ')}.`);
    const outcome = await server.call(tool, { query: withSites(query) }, { signal, responseId: '' });
    if ('error' in outcome) throw new WebSearchError(`Its tool ${tool} has failed.`);
    return readToolOutput(outcome.output);
  }
}

/** The results of a tool: those of its JSON, or its text as one that cannot be cited. */
function readToolOutput(output: string): readonly SearchResult[] {
  const value: unknown = parseJson(output);
  const list = Array.isArray(value) ? value : isObject(value) ? (value.results ?? value.web ?? value.items) : undefined;
  const results = objectsIn(isObject(list) ? list.results : list);
  if (results.length === 0) return output.trim() === '' ? [] : [{ title: '', url: '', text: output }];
  return results.map((each) =>
    toResult(
      { ...each, url: each['url'] ?? each['link'] },
      each['content'] ?? each['snippet'] ?? each['description'] ?? each['text'],
    ),
  );
}

function toResult({ title, url }: Readonly<Record<string, unknown>>, text: unknown): SearchResult {
  return { title: textIn(title) ?? '', url: textIn(url) ?? '', text: textIn(text) ?? '' };
}

/** The results of an engine whose answers always have them: without, its answer is an error, or of another form. */
function listOf(results: unknown): readonly Record<string, unknown>[] {
  if (!Array.isArray(results)) throw new WebSearchError('Its answer has no results.');
  return objectsIn(results);
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function below(base: URL, path: string, parameters: Readonly<Record<string, string>>): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/** The words of a search with its domains, as most engines understand them; without the domains where they are too long: results are filtered. */
function withSites({ text, allowedDomains, blockedDomains }: SearchQuery, longest = Infinity): string {
  const sites = allowedDomains.map((domain) => `site:${domain}`).join(' OR ');
  const allowed = allowedDomains.length > 1 ? `(${sites})` : sites;
  const parts = [text, allowed, ...blockedDomains.map((domain) => `-site:${domain}`)];
  const whole = parts.filter((part) => part !== '').join(' ');
  return whole.length <= longest ? whole : text.slice(0, longest);
}

function countryIn(location: SearchQuery['location']): { readonly country?: string } {
  const country = location?.country ?? '';
  return /^[a-z]{2}$/i.test(country) ? { country: country.toUpperCase() } : {};
}

/** Tavily has countries by their English names. */
function countryNameIn(location: SearchQuery['location']): { readonly country?: string } {
  const { country } = countryIn(location);
  if (country === undefined) return {};
  try {
    const name = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' }).of(country);
    return name === undefined ? {} : { country: name.toLowerCase() };
  } catch {
    return {};
  }
}
