import { MODELS_ETAG, rateLimitFamilyOf, REASONING_INCLUDED } from '../../../protocol/index.js';
import type { ModelEvent } from '../../model-event.js';
import { quotesSecret } from '../../redact.js';
import { firstValue } from '../../upstream-errors/retry-after.js';
import type { UpstreamHeaders } from '../transport/exchange.js';

/**
 * What the headers of an upstream's answer say before its first event (upstreams §3.1, §4.2): the rate limits of one family, such as
 * `x-ratelimit` or `x-codex`; the version of its list of models; that its usage counts the reasoning of earlier turns.
 */
export interface HeaderEvent {
  readonly type: 'rate_limits' | 'models_etag' | 'server_reasoning_included';
  /** The headers that say so, for our client. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The events of an answer's headers, in the specified order: rate limits, models etag, reasoning included. */
export function readHeaderEvents(headers: UpstreamHeaders): readonly HeaderEvent[] {
  const events = readRateLimits(headers);
  const etag = firstValue(headers[MODELS_ETAG]);
  if (etag !== undefined) events.push({ type: 'models_etag', headers: { [MODELS_ETAG]: etag } });
  if (headers[REASONING_INCLUDED] !== undefined) {
    events.push({ type: 'server_reasoning_included', headers: { [REASONING_INCLUDED]: 'true' } });
  }
  return events;
}

/** The events as headers for our client, under the names that they came with. Headers that quote a secret are left out. */
export function toMetadata(
  events: readonly HeaderEvent[],
  secrets: readonly string[],
): Extract<ModelEvent, { type: 'metadata' }> {
  const headers = events.flatMap((event) => Object.entries(event.headers));
  const safe = headers.filter(([name, value]) => !quotesSecret(`${name}: ${value}`, secrets));
  return { type: 'metadata', headers: Object.fromEntries(safe) };
}

/** What the headers of an answer say, as headers for our client; those that quote a secret are left out. */
export function readSafeHeaders(
  headers: UpstreamHeaders,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  return toMetadata(readHeaderEvents(headers), secrets).headers ?? {};
}

/** One event per family, in the order of the headers. */
function readRateLimits(headers: UpstreamHeaders): HeaderEvent[] {
  const families = new Map<string, Record<string, string>>();
  for (const [name, values] of Object.entries(headers)) {
    const family = rateLimitFamilyOf(name);
    const value = firstValue(values);
    if (family === undefined || value === undefined) continue;
    const known = families.get(family);
    if (known === undefined) families.set(family, { [name]: value });
    else known[name] = value;
  }
  return [...families.values()].map((family) => ({ type: 'rate_limits', headers: family }));
}
