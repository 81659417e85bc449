import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';

import { Agent, type Dispatcher, errors } from 'undici';

import type { Clock } from '../../time/index.js';
import { ExchangeTimer, type Timeouts } from './exchange-timer.js';
import { readText } from './read-text.js';
import { UpstreamAnswer } from './upstream-answer.js';
import { toUrl } from './to-url.js';
import { withWholeCharacters } from './well-formed.js';

/** Address and connection settings of an upstream. */
export interface UpstreamAddress {
  /** URL before the paths of the API, such as `/models`. */
  readonly baseUrl: string;
  /** Headers of every request, including credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Query parameters of every request. */
  readonly query: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  /** Maximum number of open connections; further requests wait. */
  readonly connections: number;
}

/** How a request differs from the others of its client. */
export interface PostOptions {
  /** Headers beside those of the address; they win. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the body is compressed with zstd. */
  readonly compresses?: boolean;
  /** The time for the whole exchange, ms; the timeouts of the address do not apply then. */
  readonly totalMs?: number;
}

/** Lifetime of an idle connection, ms. Most servers close idle connections after 5 s or more. */
const KEEP_ALIVE_MS = 4000;

const JSON_HEADERS = { accept: 'text/event-stream, application/json', 'content-type': 'application/json' };

const compress = promisify(zstdCompress);

/** Bytes of a JSON document. Model lists have up to a few hundred kilobytes. */
const LONGEST_DOCUMENT = 16 * 1024 * 1024;

/** The upstream answered, but not with the JSON document that it was asked for. */
export class NoDocumentError extends Error {
  override readonly name = 'NoDocumentError';
}

/** An HTTP client for one upstream: pooled keep-alive connections, HTTP/2 if TLS negotiates it, and timeouts. */
export class UpstreamClient {
  private readonly agent: Agent;
  private readonly origin: string;
  /** Paths with those of the base URL and its query, by path of the API. */
  private readonly targets = new Map<string, string>();

  constructor(
    private readonly address: UpstreamAddress,
    private readonly clock: Clock,
  ) {
    this.origin = new URL(address.baseUrl).origin;
    this.agent = new Agent({
      allowH2: true,
      connections: address.connections,
      connect: { timeout: address.timeouts.connectMs },
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // ExchangeTimer enforces these timeouts.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Posts JSON, without half characters. Rejects with the same errors as UpstreamAnswer.read, other than those of `take`. */
  async post(path: string, json: string, signal: AbortSignal, options: PostOptions = {}): Promise<UpstreamAnswer> {
    const { compresses = false, headers = {}, totalMs } = options;
    const own = { ...JSON_HEADERS, ...(compresses ? { 'content-encoding': 'zstd' } : {}) };
    const text = withWholeCharacters(json);
    const body = compresses ? await compress(text) : text;
    return this.exchange('POST', path, { ...own, ...this.address.headers, ...headers }, body, signal, totalMs);
  }

  /** Gets a JSON document. Throws NoDocumentError for a status other than 200 and for invalid JSON. */
  async getJson(path: string, signal: AbortSignal): Promise<unknown> {
    const answer = await this.exchange(
      'GET',
      path,
      { accept: 'application/json', ...this.address.headers },
      null,
      signal,
    );
    const text = await readText(answer, LONGEST_DOCUMENT);
    if (answer.status !== 200) throw new NoDocumentError(`HTTP ${answer.status}`);
    if (answer.compression !== null) throw new NoDocumentError(`the answer is ${answer.compression}`);
    try {
      return JSON.parse(text);
    } catch {
      // The parser's message quotes the answer.
      throw new NoDocumentError('the answer is not JSON');
    }
  }

  /** Closes all connections. */
  async destroy(): Promise<void> {
    await this.agent.destroy();
  }

  private async exchange(
    method: Dispatcher.HttpMethod,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array | null,
    signal: AbortSignal,
    totalMs?: number,
  ): Promise<UpstreamAnswer> {
    signal.throwIfAborted();
    const request: Dispatcher.DispatchOptions = {
      origin: this.origin,
      path: this.targetOf(path),
      method,
      headers: { 'accept-encoding': 'identity', ...headers },
      body,
    };
    const exchangeTimer = new ExchangeTimer(signal, this.clock, this.address.timeouts, totalMs);
    try {
      return await this.send(request, exchangeTimer);
    } catch (error) {
      exchangeTimer.end();
      throw error;
    }
  }

  /** Computed once per path: parsing URLs is a tenth of what happens before a request is sent. */
  private targetOf(path: string): string {
    let target = this.targets.get(path);
    if (target === undefined) {
      const { pathname, search } = toUrl(this.address, path);
      target = pathname + search;
      this.targets.set(path, target);
    }
    return target;
  }

  /** Sends a request, with one retry if the server closed an idle connection at that moment. */
  private async send(request: Dispatcher.DispatchOptions, exchangeTimer: ExchangeTimer): Promise<UpstreamAnswer> {
    try {
      return await this.dispatch(request, exchangeTimer);
    } catch (error) {
      if (!isStale(error)) throw error;
      return this.dispatch(request, exchangeTimer);
    }
  }

  private dispatch(request: Dispatcher.DispatchOptions, exchangeTimer: ExchangeTimer): Promise<UpstreamAnswer> {
    const answer = new UpstreamAnswer(exchangeTimer, this.clock);
    this.agent.dispatch(request, answer);
    return answer.head;
  }
}

/** Whether the error is a closed connection that had served earlier requests. */
function isStale(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
}
