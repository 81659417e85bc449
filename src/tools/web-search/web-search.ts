import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit, Optional } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

import { asTenant, type Tenant } from '../../access/index.js';
import { Environment, EnvironmentError } from '../../config/index.js';
import { Documents, missingFor } from '../../files/documents/index.js';
import { OutageLog } from '../../logging/index.js';
import { McpServers } from '../mcp/index.js';
import { openWebClient, toUserAgent } from '../../http/outbound/index.js';
import { describeMissing } from '../../require-packages.js';
import { Clock, type MaybePromise } from '../../time/index.js';
import {
  type EngineOptions,
  isWithin,
  reasonOf,
  type SearchQuery,
  type SearchResult,
  type WebRequestRecord,
  type WebSearchEngine,
  WebSearchError,
  WebSearchObserver,
} from './engine.js';
import { Pages, type WebPage } from './pages.js';

/** DI token: the engines given by the program, in order. */
export const WEB_SEARCH_ENGINES = 'antiphon: web search engines';

/** DI token: the engine of WEB_SEARCH=simulator. */
export const SIMULATED_SEARCH = 'antiphon: simulated search';

/** How many searches a tenant may make. */
export abstract class SearchQuota {
  /** Takes a search. False beyond the limit of the tenant. */
  abstract take(tenant: Tenant): MaybePromise<boolean>;
}

/** What is known of an engine, for `/readyz?verbose`. */
export interface EngineCondition {
  readonly name: string;
  /** Why its latest search has failed; null if it has not, or there was none. */
  readonly error: string | null;
}

/** What a search has come to. */
export interface Found {
  readonly results: readonly SearchResult[];
  /** Requests to engines: more than one where the first has failed. */
  readonly requests: number;
  /** Why there are no results, for the model; null for a search that has succeeded, with or without results. */
  readonly error: string | null;
}

/** How a page is opened. */
export interface OpenPageOptions extends EngineOptions {
  /** Whether the page may be fetched; otherwise only what an engine has, or was read some minutes ago. */
  readonly isLive: boolean;
  /** Whether a URL may be asked for, also behind a redirect; by default every one. */
  readonly isOpen?: (url: string) => boolean;
}

interface Engine {
  readonly engine: WebSearchEngine;
  error: string | null;
  /** Until then others are asked first. Milliseconds since the epoch. */
  awayUntil: number;
}

/** An engine that has failed comes last for so long, ms. */
const AWAY_MS = 30_000;

/** The web, for the models of all providers: the engines of WEB_SEARCH and of the program, one after another, and pages. */
@Injectable()
export class WebSearch implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('WebSearch');
  private readonly outages: OutageLog;
  private readonly closing: { close(): Promise<void> }[] = [];
  private engines: readonly Engine[] = [];
  private pages: Pages | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly documents: Documents,
    private readonly servers: McpServers,
    private readonly modules: ModuleRef,
    @Optional() @Inject(WEB_SEARCH_ENGINES) private readonly given: readonly WebSearchEngine[] | null,
    @Optional() @Inject(SearchQuota) private readonly quota: SearchQuota | null,
    @Optional() @Inject(WebSearchObserver) private readonly observer: WebSearchObserver | null,
  ) {
    this.outages = new OutageLog(this.logger, clock);
  }

  /** Throws EnvironmentError for an engine of WEB_SEARCH that is unknown, or lacks something. */
  async onModuleInit(): Promise<void> {
    const engines = [...(this.given ?? []), ...(await this.configured())];
    this.engines = engines.map((engine) => ({ engine, error: null, awayUntil: 0 }));
    const {
      WEB_SEARCH_PAGES: hosts,
      WEB_SEARCH_PAGE_BYTES: maxBytes,
      WEB_SEARCH_TIMEOUT_MS: timeoutMs,
    } = this.environment;
    if (engines.length === 0 || hosts === 'none') return;
    const missing = missingFor('html', 'pdf', 'robots');
    if (missing.length > 0) {
      this.logger.warn(`models cannot open pages: this needs ${describeMissing(missing)}`);
      return;
    }
    if (hosts === 'any') {
      this.logger.warn('WEB_SEARCH_PAGES=any: models can make this service read any address in its network');
    }
    const { WEB_SEARCH_ROBOTS: obeysRobots, WEB_SEARCH_CONTACT: contact } = this.environment;
    const client = await openWebClient({ hosts, connectTimeoutMs: timeoutMs }, contact);
    this.pages = new Pages({ maxBytes, timeoutMs, obeysRobots }, client, this.documents, this.clock);
    this.closing.push(this.pages);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.closing.map((each) => each.close()));
  }

  /** Whether there is an engine. */
  get isOn(): boolean {
    return this.engines.length > 0;
  }

  /** Whether pages can be opened. */
  get opensPages(): boolean {
    return this.pages !== null || this.engines.some(({ engine }) => engine.open !== undefined);
  }

  /** The engines, in the order in which they are asked. */
  conditions(): readonly EngineCondition[] {
    return this.engines.map(({ engine: { name }, error }) => ({ name, error }));
  }

  /** Searches with the first engine that answers. Rejects only with the reason of the signal. */
  async search(query: SearchQuery, { tenant, signal }: EngineOptions): Promise<Found> {
    let requests = 0;
    for (const each of this.inOrder()) {
      if ((await this.quota?.take(asTenant(tenant))) === false) {
        return { results: [], requests, error: 'There are too many searches in this minute. Go on without one.' };
      }
      requests += 1;
      const results = await this.ask(each, 'search', signal, (late) =>
        each.engine.search(query, { tenant, signal: late }),
      );
      if (results !== null) return { results: this.within(results, query), requests, error: null };
    }
    return { results: [], requests, error: 'The web could not be searched: no search engine has answered.' };
  }

  /**
   * Reads a page: that of an engine, or of its server. Rejects with WebSearchError, and with the reason of the signal.
   */
  async open(url: string, options: OpenPageOptions): Promise<WebPage> {
    const { tenant, signal, isLive, isOpen } = options;
    const known = this.pages?.find(url);
    if (known !== undefined) return known;
    for (const each of this.inOrder()) {
      const { engine } = each;
      if (engine.open === undefined) continue;
      const page = await this.ask(each, 'page', signal, (late) => engine.open?.(url, { tenant, signal: late }));
      if (page != null) return { url, ...page };
    }
    if (!isLive) throw new WebSearchError('It is not at hand, and the request does not let the service fetch pages.');
    if (this.pages === null) throw new WebSearchError('This service does not fetch pages (WEB_SEARCH_PAGES).');
    const startedAt = this.clock.now();
    const end = (outcome: WebRequestRecord['outcome']): void =>
      this.observer?.ended({ engine: 'pages', kind: 'page', outcome, durationMs: this.clock.now() - startedAt });
    try {
      const page = await this.pages.read(url, { tenant, signal }, isOpen);
      end('ok');
      return page;
    } catch (error) {
      end(signal.aborted ? 'aborted' : 'failed');
      throw error;
    }
  }

  /** Asks an engine, within the time that it has; null when it fails. Rejects with the reason of the signal. */
  private async ask<T>(
    each: Engine,
    kind: WebRequestRecord['kind'],
    signal: AbortSignal,
    act: (signal: AbortSignal) => MaybePromise<T>,
  ): Promise<T | null> {
    const { WEB_SEARCH_TIMEOUT_MS: timeoutMs } = this.environment;
    const { name } = each.engine;
    const late = new AbortController();
    const { promise: end, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => reject(signal.reason);
    const timer = this.clock.schedule(timeoutMs, () => {
      const error = new WebSearchError(`It did not answer within ${timeoutMs} ms.`);
      late.abort(error);
      reject(error);
    });
    signal.addEventListener('abort', giveUp, { once: true });
    const startedAt = this.clock.now();
    let outcome: WebRequestRecord['outcome'] = 'failed';
    try {
      signal.throwIfAborted();
      // An engine of the program may not listen to its signal.
      const made = await Promise.race([act(AbortSignal.any([signal, late.signal])), end]);
      outcome = 'ok';
      each.error = null;
      return made;
    } catch (error) {
      if (signal.aborted) {
        outcome = 'aborted';
        throw signal.reason;
      }
      each.error = reasonOf(error);
      // What an engine does not take of one client is no reason to pass it over for others.
      if (!(error instanceof WebSearchError && error.isOfQuery)) each.awayUntil = this.clock.now() + AWAY_MS;
      this.outages.warn(`the engine ${name} has failed a ${kind}`, each.error);
      return null;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', giveUp);
      this.observer?.ended({ engine: name, kind, outcome, durationMs: this.clock.now() - startedAt });
    }
  }

  /** The engines, those last that have failed just now. */
  private inOrder(): readonly Engine[] {
    if (this.engines.length === 1) return this.engines;
    const now = this.clock.now();
    const isAway = ({ awayUntil }: Engine): boolean => awayUntil > now;
    return [...this.engines.filter((each) => !isAway(each)), ...this.engines.filter(isAway)];
  }

  /** The results that a search allows: not every engine knows filters. */
  private within(results: readonly SearchResult[], query: SearchQuery): readonly SearchResult[] {
    const { allowedDomains, blockedDomains, most } = query;
    return results
      .map(withoutOddUrls)
      .filter(({ url }) => allowedDomains.length === 0 || isWithin(url, allowedDomains))
      .filter(({ url }) => !isWithin(url, blockedDomains))
      .slice(0, most);
  }

  /** The engines of WEB_SEARCH. */
  private async configured(): Promise<readonly WebSearchEngine[]> {
    const { WEB_SEARCH: names, WEB_SEARCH_URL: urls, WEB_SEARCH_KEY: keys } = this.environment;
    if (names.length === 0) return [];
    const { faultOfEngine, HttpEngine, McpEngine } = await import('./known-engines.js');
    const partsOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim());
    const [ownUrls, ownKeys] = [partsOf(urls), partsOf(keys)];
    return names.map((name, index): WebSearchEngine => {
      const mcp = /^mcp:([^/]+)(?:\/(.+))?$/.exec(name);
      if (mcp !== null) {
        if (this.environment.MCP_SERVERS === '') {
          throw new EnvironmentError(['WEB_SEARCH: mcp:<server> needs MCP_SERVERS.']);
        }
        return new McpEngine(this.servers, mcp[1] ?? '', mcp[2] ?? '');
      }
      if (name === 'simulator') return this.simulated();
      const settings = {
        url: ownUrls[index] ?? '',
        key: ownKeys[index] ?? '',
        userAgent: toUserAgent(this.environment.WEB_SEARCH_CONTACT),
      };
      const fault = faultOfEngine(name, settings);
      if (fault !== undefined) throw new EnvironmentError([`WEB_SEARCH: ${fault}.`]);
      const engine = new HttpEngine(name, settings);
      this.closing.push(engine);
      return engine;
    });
  }

  private simulated(): WebSearchEngine {
    try {
      return this.modules.get<WebSearchEngine>(SIMULATED_SEARCH, { strict: false });
    } catch {
      throw new EnvironmentError(['WEB_SEARCH: simulator needs the simulator among the providers.']);
    }
  }
}

/** A result without URLs that cannot be links: relative ones, and those that browsers run. It can be read, and not be cited. */
function withoutOddUrls({ image, ...result }: SearchResult): SearchResult {
  return {
    ...result,
    url: isLink(result.url) ? result.url : '',
    ...(image !== undefined && isLink(image) ? { image } : {}),
  };
}

/** Clients make links of the URLs of citations. Programs and MCP servers have schemes of their own. */
function isLink(url: string): boolean {
  return !/^(?:data:|javascript:|vbscript:|)$/.test(URL.parse(url)?.protocol ?? '');
}
