import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { Agent, fetch, type Response } from 'undici';

import { isPublicAddress } from '../config/index.js';
import type { Documents } from '../documents/index.js';
import { DocumentError } from '../documents/index.js';
import { isOnPublicHost, permittedLookup, readBounded, RefusedAddressError } from '../outbound/index.js';
import type { Clock } from '../time/index.js';
import { type EngineOptions, WebSearchError } from './engine.js';

/** A page that was read. */
export interface WebPage {
  /** Where it is, behind all redirects. */
  readonly url: string;
  readonly title: string | null;
  readonly text: string;
}

/** How pages are read. */
export interface PageSettings {
  /** `public`: only addresses of the public internet; `any`: also those of this network. */
  readonly hosts: 'public' | 'any';
  readonly userAgent: string;
  /** Whether robots.txt counts. */
  readonly obeysRobots: boolean;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

interface PageOptions {
  readonly signal: AbortSignal;
  readonly owner: string;
}

/** The name that robots.txt has rules for. */
const ROBOT = 'antiphon';
const MOST_REDIRECTS = 5;
const LONGEST_URL = 2048;
/** Bytes of robots.txt that count (RFC 9309, section 2.5). */
const LONGEST_ROBOTS = 512 * 1024;
const PAGE_TTL_MS = 5 * 60_000;
const ROBOTS_TTL_MS = 60 * 60_000;
/** Characters of pages that are kept, and what an entry weighs beyond its text. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;
const ENTRY_CHARACTERS = 256;

/** Reads pages of the web: bounded in time and bytes, only where they may be read, and each once within some minutes. */
export class Pages {
  private readonly agent: Agent;
  private readonly kept: Kept<WebPage>;
  private readonly robots: Kept<string | null>;

  constructor(
    private readonly settings: PageSettings,
    private readonly documents: Documents,
    private readonly clock: Clock,
    lookup: LookupFunction = systemLookup,
  ) {
    this.kept = new Kept(clock);
    this.robots = new Kept(clock);
    const isOpen = settings.hosts === 'any';
    this.agent = new Agent({
      connect: { lookup: isOpen ? lookup : permittedLookup(lookup, isPublicAddress), timeout: settings.timeoutMs },
    });
  }

  /** The page, if it was read within some minutes. */
  find(url: string): WebPage | undefined {
    return this.kept.find(url);
  }

  /**
   * Reads a page. Rejects with WebSearchError, whose message is for models, and with the reason of the signal.
   *
   * @param isOpen whether a URL may be asked for, also behind a redirect
   */
  async read(
    given: string,
    { signal, tenant }: EngineOptions,
    isOpen: (url: string) => boolean = () => true,
  ): Promise<WebPage> {
    const known = this.find(given);
    if (known !== undefined) return known;
    const late = new AbortController();
    const timer = this.clock.schedule(this.settings.timeoutMs, () => late.abort());
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const options = { signal: either, owner: tenant };
      const { url, answer } = await this.follow(this.toUrl(given), options, isOpen);
      const contentType = answer.headers.get('content-type') ?? 'text/html';
      if (!this.documents.reads(contentType)) {
        await answer.body?.cancel();
        throw new WebSearchError(`It is of the type '${contentType.slice(0, 100)}', which cannot be read.`);
      }
      const { maxBytes } = this.settings;
      const tooLong = (): Error => new WebSearchError(`It has more than ${maxBytes} bytes.`);
      const bytes = await readBounded(bodyOf(answer), maxBytes, tooLong);
      const document = await this.documents.read({ bytes, contentType, url: url.href }, options);
      const text = document.pages.map((page) => page.text).join('\n\n');
      const page: WebPage = { url: url.href, title: document.title, text };
      const characters = text.length + page.url.length + (page.title?.length ?? 0);
      for (const key of new Set([given, url.href])) this.kept.keep(key, page, PAGE_TTL_MS, characters);
      return page;
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw new WebSearchError(`It did not answer within ${this.settings.timeoutMs} ms.`);
      if (error instanceof WebSearchError) throw error;
      if (error instanceof DocumentError) throw new WebSearchError(error.message, { cause: error });
      throw new WebSearchError(describe(error), { cause: error });
    } finally {
      timer.cancel();
    }
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }

  /** Asks for a page, behind redirects, each of which is checked like the first URL. */
  private async follow(
    url: URL,
    options: PageOptions,
    isOpen: (url: string) => boolean,
  ): Promise<{ readonly url: URL; readonly answer: Response }> {
    let target = url;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      if (!isOpen(target.href)) throw new WebSearchError('Its domain is not among those that are allowed.');
      if (this.settings.obeysRobots && !(await this.isAllowed(target, options))) {
        throw new WebSearchError('Its robots.txt does not let this service read it.');
      }
      const answer = await this.fetch(target, options.signal);
      const location = answer.headers.get('location');
      if (answer.status < 300 || answer.status > 399 || location === null) {
        if (answer.ok) return { url: target, answer };
        await answer.body?.cancel();
        throw new WebSearchError(`It has answered ${answer.status}.`);
      }
      await answer.body?.cancel();
      target = this.toUrl(location, target);
    }
    throw new WebSearchError(`It has more than ${MOST_REDIRECTS} redirects.`);
  }

  private fetch(url: URL, signal: AbortSignal): Promise<Response> {
    const headers = {
      'user-agent': this.settings.userAgent,
      accept: 'text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.8, */*;q=0.1',
    };
    return fetch(url, { dispatcher: this.agent, redirect: 'manual', signal, headers });
  }

  /** Throws WebSearchError for a URL that must not be read. */
  private toUrl(text: string, base?: URL): URL {
    const url = URL.parse(text, base?.href);
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new WebSearchError('Its URL is not one of http or https.');
    if (url.href.length > LONGEST_URL) throw new WebSearchError(`Its URL has more than ${LONGEST_URL} characters.`);
    if (url.username !== '' || url.password !== '') throw new WebSearchError('Its URL has a user or a password.');
    url.hash = '';
    if (this.settings.hosts === 'public' && !isOnPublicHost(url))
      throw new WebSearchError('It is not on the public internet.');
    return url;
  }

  /** Whether robots.txt lets this service read a page (RFC 9309): a server that has none does, one that fails does not. */
  private async isAllowed(url: URL, options: PageOptions): Promise<boolean> {
    const known = this.robots.find(url.origin);
    const rules = known === undefined ? await this.readRobots(url.origin, options.signal) : known;
    if (known === undefined) this.robots.keep(url.origin, rules, ROBOTS_TTL_MS, rules?.length ?? 0);
    if (rules === null) return false;
    return rules === '' || (await this.documents.isAllowed(rules, url.href, ROBOT, options));
  }

  /** The text of robots.txt; null where nothing may be read. */
  private async readRobots(origin: string, signal: AbortSignal): Promise<string | null> {
    let target = new URL('/robots.txt', origin);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await this.fetch(target, signal);
      const location = answer.headers.get('location');
      if (answer.status >= 300 && answer.status <= 399 && location !== null) {
        await answer.body?.cancel();
        target = this.toUrl(location, target);
        continue;
      }
      if (answer.ok) return new TextDecoder().decode(await readBounded(bodyOf(answer), LONGEST_ROBOTS, () => null));
      await answer.body?.cancel();
      return answer.status >= 500 ? null : '';
    }
    return '';
  }
}

/** The body of an answer, decompressed. */
function bodyOf({ body }: Response): AsyncIterable<Uint8Array> {
  return (body ?? []) as AsyncIterable<Uint8Array>;
}

/** What was read, for a while: the oldest go when there are too many characters. */
class Kept<T> {
  private readonly entries = new Map<string, { readonly value: T; readonly until: number; readonly weight: number }>();
  private characters = 0;

  constructor(private readonly clock: Clock) {}

  find(key: string): T | undefined {
    const entry = this.entries.get(key);
    return entry === undefined || entry.until <= this.clock.now() ? undefined : entry.value;
  }

  keep(key: string, value: T, ttlMs: number, characters: number): void {
    this.delete(key);
    const weight = characters + key.length + ENTRY_CHARACTERS;
    this.entries.set(key, { value, until: this.clock.now() + ttlMs, weight });
    this.characters += weight;
    for (const oldest of this.entries.keys()) {
      if (this.characters <= KEPT_CHARACTERS) return;
      this.delete(oldest);
    }
  }

  private delete(key: string): void {
    this.characters -= this.entries.get(key)?.weight ?? 0;
    this.entries.delete(key);
  }
}

/** What went wrong with a connection, for models. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof RefusedAddressError) return 'It is not on the public internet.';
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? `It cannot be reached: ${code}.` : 'It cannot be reached.';
}
