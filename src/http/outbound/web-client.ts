import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { Agent, fetch, type Response } from 'undici';

import { isPublicAddress } from '../../config/index.js';
import { permittedLookup, RefusedAddressError } from './permitted-lookup.js';
import { isOnPublicHost } from './public-urls.js';
import { readBounded } from './read-bounded.js';
import { EndlessRedirectsError, WebClientError } from './web-errors.js';

/** Where a WebClient may go. */
export interface WebClientSettings {
  /** `public`: only addresses of the public internet; `any`: also those of this network. */
  readonly hosts: 'public' | 'any';
  readonly userAgent: string;
  /** Milliseconds for a connection. */
  readonly connectTimeoutMs: number;
}

/** How a URL is asked for. */
export interface WebRequest {
  readonly signal: AbortSignal;
  /** The types that are wanted, as HTTP has them. */
  readonly accept: string;
  /** Called before each request, also behind a redirect; rejects what must not be asked for. */
  readonly check?: (url: URL) => Promise<void>;
}

/** What has come, behind all redirects. */
export interface WebAnswer {
  readonly url: URL;
  readonly answer: Response;
}

const MOST_REDIRECTS = 5;
const LONGEST_URL = 2048;

/**
 * Reads URLs that models, clients and pages bring. Each is checked, also behind a redirect, and addresses once more when a connection is made.
 * Methods reject with WebClientError, what `check` rejects with, and the reason of the signal.
 */
export class WebClient {
  private readonly agent: Agent;

  constructor(
    private readonly settings: WebClientSettings,
    lookup: LookupFunction = systemLookup,
  ) {
    const isOpen = settings.hosts === 'any';
    this.agent = new Agent({
      connect: {
        lookup: isOpen ? lookup : permittedLookup(lookup, isPublicAddress),
        timeout: settings.connectTimeoutMs,
      },
    });
  }

  /** The answer for a URL, whatever its status, behind redirects. Its body must be read or cancelled. */
  async get(given: string, { signal, accept, check }: WebRequest): Promise<WebAnswer> {
    const headers = { 'user-agent': this.settings.userAgent, accept };
    let url = this.toUrl(given);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      await check?.(url);
      const options = { dispatcher: this.agent, redirect: 'manual', signal, headers } as const;
      const answer = await fetch(url, options).catch((error: unknown) => {
        throw toTold(error, signal);
      });
      const location = answer.headers.get('location');
      if (answer.status < 300 || answer.status > 399 || location === null) return { url, answer };
      await this.discard({ answer });
      url = this.toUrl(location, url);
    }
    throw new EndlessRedirectsError(MOST_REDIRECTS);
  }

  /** As `get`, but only what was found. */
  async find(given: string, request: WebRequest): Promise<WebAnswer> {
    const found = await this.get(given, request);
    if (found.answer.ok) return found;
    await this.discard(found);
    throw new WebClientError(`It has answered ${found.answer.status}.`);
  }

  /** Leaves the body of an answer. */
  async discard({ answer }: Pick<WebAnswer, 'answer'>): Promise<void> {
    await answer.body?.cancel();
  }

  /** The body of an answer, unpacked, as it comes. */
  async *body({ answer }: WebAnswer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      yield* (answer.body ?? []) as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw toTold(error, signal);
    }
  }

  /** The body of an answer, unpacked. A longer one is cut, or rejected. */
  read(found: WebAnswer, signal: AbortSignal, mostBytes: number, whenLong: 'cut' | 'reject'): Promise<Buffer> {
    const tooLong = (): Error | null =>
      whenLong === 'cut' ? null : new WebClientError(`It has more than ${mostBytes} bytes.`);
    return readBounded(this.body(found, signal), mostBytes, tooLong);
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }

  private toUrl(text: string, base?: URL): URL {
    const url = URL.parse(text, base?.href);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new WebClientError('Its URL is not one of http or https.');
    }
    if (url.href.length > LONGEST_URL) throw new WebClientError(`Its URL has more than ${LONGEST_URL} characters.`);
    if (url.username !== '' || url.password !== '') throw new WebClientError('Its URL has a user or a password.');
    url.hash = '';
    if (this.settings.hosts === 'public' && !isOnPublicHost(url)) {
      throw new WebClientError('It is not on the public internet.');
    }
    return url;
  }
}

/** What has gone wrong with a connection, in words. Throws the reason of the signal. */
function toTold(error: unknown, signal: AbortSignal): WebClientError {
  signal.throwIfAborted();
  return new WebClientError(describe(error), { cause: error });
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof RefusedAddressError) return 'It is not on the public internet.';
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? `It cannot be reached: ${code}.` : 'It cannot be reached.';
}
