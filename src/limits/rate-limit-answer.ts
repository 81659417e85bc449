import { ApiError } from '../protocol/index.js';
import type { Counted } from '../state/index.js';
import type { LimitRule } from './limit-rule.js';

type Headers = Readonly<Record<string, string>>;

/** The headers that tell a client its limits (protocol §7); none for what the rule does not limit. */
export function limitHeaders(rule: LimitRule, { requests, tokens, resetMs }: Counted): Headers {
  const { requests_per_minute: mostRequests = 0, tokens_per_minute: mostTokens = 0 } = rule;
  const reset = inUnits(resetMs);
  // Written out: objects whose names are computed are slow, and every turn makes one.
  const ofRequests: Headers =
    mostRequests === 0
      ? {}
      : {
          'x-ratelimit-limit-requests': String(mostRequests),
          'x-ratelimit-remaining-requests': String(Math.max(0, mostRequests - requests)),
          'x-ratelimit-reset-requests': reset,
        };
  if (mostTokens === 0) return ofRequests;
  return {
    ...ofRequests,
    'x-ratelimit-limit-tokens': String(mostTokens),
    'x-ratelimit-remaining-tokens': String(Math.max(0, mostTokens - tokens)),
    'x-ratelimit-reset-tokens': reset,
  };
}

/** A duration as OpenAI writes it: `20ms`, `1.5s`, `6m0s`. */
export function inUnits(durationMs: number): string {
  const ms = Math.max(0, Math.ceil(durationMs));
  if (ms < 1000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes > 0 ? `${minutes}m` : ''}${(ms % 60_000) / 1000}s`;
}

/** 429 for a turn that its counters have no room for, with what was used and when there is room again. */
export function limitReached(rule: LimitRule, model: string, tokens: number, counted: Counted): ApiError {
  const { requests_per_minute: requests = 0, tokens_per_minute: most = 0 } = rule;
  const reached =
    requests > 0 && counted.requests >= requests
      ? `requests per minute: limit ${requests}, used ${counted.requests}`
      : `tokens per minute: limit ${most}, used ${counted.tokens}, requested ${tokens}`;
  return ApiError.of(
    'rate_limit_exceeded',
    `Rate limit reached for ${model} on ${reached}. Please try again in ${inUnits(counted.resetMs)}.`,
    {
      headers: {
        ...limitHeaders(rule, counted),
        'retry-after': String(Math.max(1, Math.ceil(counted.resetMs / 1000))),
      },
    },
  );
}

/** 429 for a turn that no window has room for: SDKs must not repeat it. */
export function requestTooLarge(rule: LimitRule, model: string, tokens: number): ApiError {
  const { tokens_per_minute: most = 0 } = rule;
  return ApiError.of(
    'rate_limit_exceeded',
    `Request too large for ${model} on tokens per minute: limit ${most}, requested ${tokens}. ` +
      'The input must be smaller; to try again does not help.',
    { headers: { 'x-should-retry': 'false' } },
  );
}

/** 429 for a turn beyond those that may run at once. */
export function tooManyTurns(model: string, most: number): ApiError {
  return ApiError.of(
    'rate_limit_exceeded',
    `Rate limit reached for ${model} on concurrent turns: limit ${most}. Please try again when one of them has ended.`,
    { headers: { 'retry-after': '1' } },
  );
}
