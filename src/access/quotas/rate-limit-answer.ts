import { ApiError } from '../../protocol/index.js';
import { type Counted, LIMIT_WINDOW_MS, type Take } from '../../state/index.js';
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
export function refusal(rule: LimitRule, model: string, take: Take, counted: Counted): ApiError {
  const { requestLimit, tokens, tokenLimit, placeLimit } = take;
  const lacksRequests = take.requests > 0 && requestLimit > 0 && counted.requests >= requestLimit;
  const lacksTokens = tokens > 0 && tokenLimit > 0 && counted.tokens + tokens > tokenLimit;
  if (!lacksRequests && !lacksTokens && take.places > 0 && placeLimit > 0) return tooManyTurns(model, placeLimit);
  // The counters may be a moment older than the refusal.
  const isOfRequests = lacksRequests || tokenLimit === 0;
  const reached = isOfRequests
    ? `requests per minute: limit ${requestLimit}, used ${counted.requests}`
    : `tokens per minute: limit ${tokenLimit}, used ${counted.tokens}, requested ${tokens}`;
  // What was too much before takes the room of later windows.
  const windows = isOfRequests ? 0 : Math.max(0, Math.ceil((counted.tokens + tokens - 2 * tokenLimit) / tokenLimit));
  const waitMs = counted.resetMs + windows * LIMIT_WINDOW_MS;
  return ApiError.of(
    'rate_limit_exceeded',
    `Rate limit reached for ${model} on ${reached}. Please try again in ${inUnits(waitMs)}.`,
    {
      headers: {
        ...limitHeaders(rule, counted),
        'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))),
      },
    },
  );
}

/** 429 for a turn that no window has room for: SDKs must not repeat it. */
export function requestTooLarge(
  rule: LimitRule,
  model: string,
  inputTokens: number,
  maxOutputTokens: number | null,
): ApiError {
  const { tokens_per_minute: most = 0 } = rule;
  const smaller = maxOutputTokens === null ? 'The input' : 'The input or max_output_tokens';
  return ApiError.of(
    'rate_limit_exceeded',
    `Request too large for ${model} on tokens per minute: limit ${most}, requested ${inputTokens + (maxOutputTokens ?? 0)}. ` +
      `${smaller} must be smaller; to try again does not help.`,
    { headers: { 'x-should-retry': 'false' } },
  );
}

function tooManyTurns(model: string, most: number): ApiError {
  return ApiError.of(
    'rate_limit_exceeded',
    `Rate limit reached for ${model} on concurrent turns: limit ${most}. Please try again when one of them has ended.`,
    { headers: { 'retry-after': '1' } },
  );
}
