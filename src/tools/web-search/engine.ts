import { firstLineOf } from '../../config/index.js';

/** Where the user is, roughly. All members are the client's text. */
export interface UserLocation {
  readonly city?: string | null;
  /** Two letters, ISO 3166-1. */
  readonly country?: string | null;
  readonly region?: string | null;
  /** IANA. */
  readonly timezone?: string | null;
}

/** A search, as an engine gets it. What an engine cannot do itself, the service does with its results, or the model with its words. */
export interface SearchQuery {
  readonly text: string;
  /** Most results. */
  readonly most: number;
  /** Only these domains and those below them; all if there are none. In lower case. */
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  readonly location: UserLocation | null;
  /** Images in place of pages. */
  readonly images: boolean;
}

/** What an engine has found. */
export interface SearchResult {
  readonly title: string;
  /** Of the page; what has none cannot be cited. */
  readonly url: string;
  /** What the page says, as far as the engine tells. */
  readonly text: string;
  /** When it was published, as the engine says it. */
  readonly published?: string | undefined;
  /** The URL of an image. */
  readonly image?: string | undefined;
}

/** A page as an engine has it. */
export interface EnginePage {
  readonly title: string | null;
  readonly text: string;
}

/** How an engine is asked. */
export interface EngineOptions {
  /** Aborts when the turn is stopped, or the engine takes too long. */
  readonly signal: AbortSignal;
  /** The tenant that is served: what is kept for one must not reach another. */
  readonly tenant: string;
}

/**
 * An engine that searches the web for the models of all tenants. An error that it throws is logged, counted, and told to the model in the
 * words of its message if it is a WebSearchError; the next engine is asked.
 */
export abstract class WebSearchEngine {
  /** Stands in logs and metrics. */
  abstract readonly name: string;

  /** Searches. One call is one request in `tool_usage`. */
  abstract search(query: SearchQuery, options: EngineOptions): Promise<readonly SearchResult[]>;

  /** A page, for engines that have pages themselves; undefined, or without the method, the service reads it. */
  open?(url: string, options: EngineOptions): Promise<EnginePage | undefined>;
}

/** Whether a URL is of one of some domains, or below one, whatever way it is written. */
export function isWithin(url: string, domains: readonly string[]): boolean {
  const host = plainHost(url);
  return domains.some((domain) => {
    const own = plainHost(`http://${domain}`);
    return own !== '' && (host === own || host.endsWith(`.${own}`));
  });
}

/** In lower case, as ASCII, and without a dot at its end. */
function plainHost(url: string): string {
  return URL.parse(url)?.hostname.replace(/\.$/, '') ?? '';
}

/** A search that has failed, or a page that cannot be read. The message is for models and logs, without credentials. */
export class WebSearchError extends Error {
  override readonly name = 'WebSearchError';

  /** `isOfQuery`: whether the engine would answer other queries. */
  constructor(
    message: string,
    options?: ErrorOptions,
    readonly isOfQuery = false,
  ) {
    super(message, options);
  }
}

/** A search that is over; for metrics. */
export interface WebRequestRecord {
  /** The name of the engine; `pages` for a page that the service has read. */
  readonly engine: string;
  readonly kind: 'search' | 'page';
  readonly outcome: 'ok' | 'failed' | 'aborted';
  readonly durationMs: number;
}

/** Is told of every request of a search; for metrics. */
export abstract class WebSearchObserver {
  abstract ended(record: WebRequestRecord): void;
}

/** What went wrong with an engine, without its URL and key. */
export function reasonOf(error: unknown): string {
  if (error instanceof WebSearchError) return error.message;
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : firstLineOf(error);
}
