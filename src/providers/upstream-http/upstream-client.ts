import { Agent, type Dispatcher, errors } from 'undici';

import type { Clock } from '../../time/index.js';
import { ExchangeTimer, type Timeouts } from './exchange-timer.js';
import { readText } from './read-text.js';
import { UpstreamAnswer } from './upstream-answer.js';

/** Address and connection settings of an upstream. */
export interface UpstreamAddress {
  /** URL before `/chat/completions`, without a trailing slash. */
  readonly baseUrl: string;
  /** Headers of every request, including credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Query parameters of every request. */
  readonly query: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  /** Maximum number of open connections; further requests wait. */
  readonly connections: number;
}

/** Lifetime of an idle connection, ms. Most servers close idle connections after 5 s or more. */
const KEEP_ALIVE_MS = 4000;

/** Bytes of a JSON document. Model lists have up to a few hundred kilobytes. */
const LONGEST_DOCUMENT = 16 * 1024 * 1024;

/** The upstream answered, but not with the JSON document that it was asked for. */
export class NoDocumentError extends Error {
  override readonly name = 'NoDocumentError';
}

/** An HTTP client for one upstream: pooled keep-alive connections, HTTP/2 if TLS negotiates it, and timeouts. */
export class UpstreamClient {
  private readonly agent: Agent;
  private readonly base: URL;

  constructor(
    private readonly address: UpstreamAddress,
    private readonly clock: Clock,
  ) {
    this.base = new URL(address.baseUrl);
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

  /** Posts JSON. Rejects with the same errors as UpstreamAnswer.read, other than those of `take`. */
  post(path: string, json: string, signal: AbortSignal): Promise<UpstreamAnswer> {
    return this.exchange('POST', path, json, signal);
  }

  /** Gets a JSON document. Throws NoDocumentError for a status other than 200 and for invalid JSON. */
  async getJson(path: string, signal: AbortSignal): Promise<unknown> {
    const answer = await this.exchange('GET', path, null, signal);
    const text = await readText(answer, LONGEST_DOCUMENT);
    if (answer.status !== 200) throw new NoDocumentError(`HTTP ${answer.status}`);
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
    json: string | null,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> {
    const exchangeTimer = new ExchangeTimer(signal, this.clock, this.address.timeouts);
    const request: Dispatcher.RequestOptions = {
      origin: this.base.origin,
      path: this.pathTo(path),
      method,
      headers: {
        accept: json === null ? 'application/json' : 'text/event-stream, application/json',
        'accept-encoding': 'identity',
        ...(json === null ? {} : { 'content-type': 'application/json' }),
        ...this.address.headers,
      },
      body: json,
      signal: exchangeTimer.signal,
    };
    try {
      return new UpstreamAnswer(await this.send(request), exchangeTimer, this.clock);
    } catch (error) {
      exchangeTimer.end();
      throw exchangeTimer.signal.aborted ? exchangeTimer.signal.reason : error;
    }
  }

  /** Sends a request, with one retry if the server closed an idle connection at that moment. */
  private async send(request: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    try {
      return await this.agent.request(request);
    } catch (error) {
      if (!isStale(error)) throw error;
      return this.agent.request(request);
    }
  }

  private pathTo(path: string): string {
    const url = new URL(this.base.pathname.replace(/\/+$/, '') + path, this.base);
    for (const [name, value] of this.base.searchParams) url.searchParams.append(name, value);
    for (const [name, value] of Object.entries(this.address.query)) url.searchParams.append(name, value);
    return url.pathname + url.search;
  }
}

/** Whether the error is a closed connection that had served earlier requests. */
function isStale(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
}
