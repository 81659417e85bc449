import type { Documents } from '../../files/documents/index.js';
import { DocumentError } from '../../files/documents/index.js';
import { EndlessRedirectsError, inTime, type WebClient, WebClientError } from '../../http/outbound/index.js';
import type { Clock } from '../../time/index.js';
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
const PAGE_TYPES = 'text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.8, */*;q=0.1';
/** Bytes of robots.txt that count (RFC 9309, section 2.5). */
const LONGEST_ROBOTS = 512 * 1024;
const PAGE_TTL_MS = 5 * 60_000;
const ROBOTS_TTL_MS = 60 * 60_000;
/** Characters of pages that are kept, and what an entry weighs beyond its text. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;
const ENTRY_CHARACTERS = 256;

/** Reads pages of the web: bounded in time and bytes, only where they may be read, and each once within some minutes. */
export class Pages {
  private readonly kept: Kept<WebPage>;
  private readonly robots: Kept<string | null>;

  constructor(
    private readonly settings: PageSettings,
    private readonly client: WebClient,
    private readonly documents: Documents,
    private readonly clock: Clock,
  ) {
    this.kept = new Kept(clock);
    this.robots = new Kept(clock);
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
    try {
      const page = await inTime(this.clock, this.settings.timeoutMs, signal, (either) =>
        this.fetch(given, { signal: either, owner: tenant }, isOpen),
      );
      const characters = page.text.length + page.url.length + (page.title?.length ?? 0);
      for (const key of new Set([given, page.url])) this.kept.keep(key, page, PAGE_TTL_MS, characters);
      return page;
    } catch (error) {
      if (error instanceof WebClientError || error instanceof DocumentError) {
        throw new WebSearchError(error.message, { cause: error });
      }
      throw error;
    }
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.client.close();
  }

  private async fetch(given: string, options: PageOptions, isOpen: (url: string) => boolean): Promise<WebPage> {
    const { signal } = options;
    const check = async (url: URL): Promise<void> => {
      if (!isOpen(url.href)) throw new WebSearchError('Its domain is not among those that are allowed.');
      if (this.settings.obeysRobots && !(await this.isAllowed(url, options))) {
        throw new WebSearchError('Its robots.txt does not let this service read it.');
      }
    };
    const found = await this.client.find(given, { signal, accept: PAGE_TYPES, check });
    const contentType = found.answer.headers.get('content-type') ?? 'text/html';
    if (!this.documents.reads(contentType)) {
      await this.client.discard(found);
      throw new WebSearchError(`It is of the type '${contentType.slice(0, 100)}', which cannot be read.`);
    }
    const bytes = await this.client.read(found, signal, this.settings.maxBytes, 'reject');
    const { href: url } = found.url;
    const document = await this.documents.read({ bytes, contentType, url }, options);
    return { url, title: document.title, text: document.pages.map((page) => page.text).join('\n\n') };
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
    try {
      const found = await this.client.get(`${origin}/robots.txt`, { signal, accept: 'text/plain' });
      const { status, ok } = found.answer;
      if (ok) return new TextDecoder().decode(await this.client.read(found, signal, LONGEST_ROBOTS, 'cut'));
      await this.client.discard(found);
      return status >= 500 ? null : '';
    } catch (error) {
      if (error instanceof EndlessRedirectsError) return '';
      throw error;
    }
  }
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
