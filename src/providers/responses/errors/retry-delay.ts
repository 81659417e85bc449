import { readRetryAfter } from '../../upstream-errors/index.js';
import type { UpstreamHeaders } from '../transport/exchange.js';
import type { FailureContext } from './failure-context.js';

/** A delay in the text of an error: `Please try again in 1.2s`, `300ms`, `2 seconds`. */
const ADVICE = /try again in\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|seconds?|s)\b/i;

/** The delay in the text of an error, ms. */
export function readAdvice(message: string): number | undefined {
  const [, amount, unit] = ADVICE.exec(message) ?? [];
  if (amount === undefined) return undefined;
  return Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1000);
}

/** Where an error may state a delay. */
export interface DelaySources {
  readonly headers?: UpstreamHeaders;
  readonly code: string | null;
  readonly message: string;
}

/**
 * Until when an upstream asks to wait, milliseconds since the epoch: by `retry-after` where the profile reads it, or by the text of an
 * error whose code has such a text.
 */
export function readRetryAt(
  { headers = {}, code, message }: DelaySources,
  { profile, now }: FailureContext,
): number | undefined {
  const stated = profile.readsRetryAfter ? readRetryAfter(headers, now) : undefined;
  const delay = stated ?? (profile.delayCodes.has(code ?? '') ? readAdvice(message) : undefined);
  return delay === undefined ? undefined : now + delay;
}
