import { ApiError } from '../protocol/index.js';
import type { Counted } from '../state/index.js';
import type { LimitRule } from './limit-rule.js';

type Headers = Readonly<Record<string, string>>;

/** The headers that tell a client its limits (protocol §7); none for what the rule does not limit. */
export function limitHeaders(rule: LimitRule, { requests, tokens, resetMs }: Counted): Headers {
  return {
    ...headersOf('requests', rule.requests_per_minute, requests, resetMs),
    ...headersOf('tokens', rule.tokens_per_minute, tokens, resetMs),
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

function headersOf(kind: 'requests' | 'tokens', limit = 0, used: number, resetMs: number): Headers {
  if (limit === 0) return {};
  return {
    [`x-ratelimit-limit-${kind}`]: String(limit),
    [`x-ratelimit-remaining-${kind}`]: String(Math.max(0, limit - used)),
    [`x-ratelimit-reset-${kind}`]: inUnits(resetMs),
  };
}
