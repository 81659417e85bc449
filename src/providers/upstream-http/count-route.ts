import { isTokenCount } from '../../protocol/index.js';
import { isObject, parseJson } from '../../validation/index.js';
import type { Clock } from '../../time/index.js';
import { readText } from './read-text.js';
import type { UpstreamAnswer } from './upstream-answer.js';
import type { PostOptions, UpstreamClient } from './upstream-client.js';

/** Statuses of a route that a server does not have. */
const NO_ROUTE: ReadonlySet<number> = new Set([404, 405, 501]);

/** What a 404 says that is about something else than the route. */
const NAMES_ITS_SUBJECT = /model|previous/i;

/** After this time a server that lacked the route is asked again, ms: it may have been updated. */
const LACKING_MS = 10 * 60 * 1000;

/** Bytes of an answer: some servers list the tokens themselves. */
const LONGEST_ANSWER = 16 * 1024 * 1024;

/** A server refused to count. */
export class CountRefusedError extends Error {
  override readonly name = 'CountRefusedError';

  constructor(
    readonly status: number,
    readonly headers: UpstreamAnswer['headers'],
    readonly text: string,
  ) {
    super(`HTTP ${status}`);
  }
}

/** The route by which an upstream counts tokens; it remembers for a while that a server lacks it. */
export class CountRoute {
  private lacksUntil = 0;

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Clock,
    /** Below the base URL of the upstream. */
    private readonly path: string,
  ) {}

  /**
   * Posts a request and reads the number in its answer: `input_tokens`, or `count` of vLLM. Null when the server lacks the route, or
   * answers without a number. Rejects with CountRefusedError, and as UpstreamClient does.
   */
  async ask(json: string, signal: AbortSignal | undefined, options?: PostOptions): Promise<number | null> {
    if (this.clock.now() < this.lacksUntil) return null;
    const answer = await this.client.post(this.path, json, signal ?? new AbortController().signal, options);
    const { status, headers } = answer;
    const text = await readText(answer, LONGEST_ANSWER);
    if (status >= 200 && status <= 299) return readCount(text);
    const isLacking = NO_ROUTE.has(status) && !(status === 404 && NAMES_ITS_SUBJECT.test(text));
    if (!isLacking) throw new CountRefusedError(status, headers, text);
    this.lacksUntil = this.clock.now() + LACKING_MS;
    return null;
  }
}

function readCount(text: string): number | null {
  const body = parseJson(text);
  const tokens = isObject(body) ? (body.input_tokens ?? body.count) : undefined;
  return isTokenCount(tokens) ? tokens : null;
}
