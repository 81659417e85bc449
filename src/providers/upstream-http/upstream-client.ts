import { Agent, type Dispatcher, errors } from 'undici';

import type { Clock } from '../../time/index.js';
import { ExchangeTimer, type Timeouts } from './exchange-timer.js';
import { readText } from './read-text.js';
import { UpstreamAnswer } from './upstream-answer.js';

/** Where an upstream is, and how it is spoken to. */
export interface UpstreamAddress {
  /** Everything before `/chat/completions`, without a slash at the end. */
  readonly baseUrl: string;
  /** Sent with every request, credentials among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Added to the query of every request. */
  readonly query: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  /** Most connections that are open at once; further requests wait. */
  readonly connections: number;
}

/** How long an idle connection is kept, ms; most servers close them after 5 s or later, and then a new one is opened. */
const KEEP_ALIVE_MS = 4000;

/** Lists of models have some hundred kilobytes, at most. */
const LONGEST_DOCUMENT = 16 * 1024 * 1024;

/** Speaks HTTP with one upstream: pooled keep-alive connections, HTTP/2 where TLS negotiates it, and patience with limits. */
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
      // Ours are kept by the Clock, and start anew with each piece of the answer.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Posts JSON. Rejects as reading the answer does when there is no answer at all. */
  post(path: string, json: string, signal: AbortSignal): Promise<UpstreamAnswer> {
    return this.exchange('POST', path, json, signal);
  }

  /** Gets a JSON document. Throws for a status other than 200, and for what is not JSON. */
  async getJson(path: string, signal: AbortSignal): Promise<unknown> {
    const answer = await this.exchange('GET', path, null, signal);
    const text = await readText(answer, LONGEST_DOCUMENT);
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
    return JSON.parse(text);
  }

  /** Hangs up on everything. */
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

  /** A kept connection may have been closed by its server in the very moment: that is no failure, and another one is taken. */
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

/** Whether a connection was closed that had served other requests before. */
function isStale(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
}
