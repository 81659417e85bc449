import { limitOf, MODELS_ETAG, toRateLimitsEvents } from '../../protocol/index.js';
import type { ForeignEvent } from '../../providers/index.js';

type Headers = Readonly<Record<string, string>>;

/** The headers of a turn for its client, as events, in which Codex reads them on a socket. */
export class ToldHeaders {
  private waiting: Headers | null = null;
  /** Limits of an upstream, which say more than headers do. */
  private limits: readonly ForeignEvent[] = [];
  private said: Headers = {};

  /** Adds headers. The first value counts, so that those of the service come before those of a provider; what was said is not repeated. */
  add(headers: Headers): void {
    const news = Object.entries(headers).filter(([name, value]) => this.said[name] !== value);
    if (news.length > 0) this.waiting = { ...Object.fromEntries(news), ...this.waiting };
  }

  /** Adds an event that goes before the response. */
  addEvent(event: ForeignEvent): void {
    this.limits = [...this.limits, event];
  }

  /** The events since the last call: all headers in `response.metadata`, and again what Codex reads elsewhere. */
  take(): readonly object[] {
    const { waiting, limits } = this;
    if (waiting === null && limits.length === 0) return limits;
    const headers = waiting ?? {};
    this.waiting = null;
    this.limits = [];
    this.said = { ...this.said, ...headers };
    const known = new Set(limits.map(limitOf));
    const etag = headers[MODELS_ETAG];
    return [
      ...(waiting === null ? [] : [{ type: 'response.metadata', headers }]),
      ...(etag === undefined ? [] : [{ type: 'codex.response.metadata', headers: { [MODELS_ETAG]: etag } }]),
      ...limits,
      ...toRateLimitsEvents(headers).filter((event) => !known.has(limitOf(event))),
    ];
  }
}
