import { readRetryAfter } from '../../upstream-errors/index.js';
import type { Profile } from '../profile.js';
import type { UpstreamHeaders } from '../transport/index.js';

/** What the class of a failure depends on besides the failure. */
export interface FailureContext {
  readonly profile: Profile;
  /** When it was read, milliseconds since the epoch: delays count from here. */
  readonly now: number;
}

/** Until when an upstream asks to wait, milliseconds since the epoch. */
export interface Delays {
  /** As the profile reads it, for the next attempt. */
  readonly retryAt?: number;
  /** As the headers or the text state it, for the client. */
  readonly statedAt?: number;
}

/** Where an error may state a delay. */
export interface DelaySources {
  readonly headers?: UpstreamHeaders;
  readonly code: string | null;
  readonly message: string;
}

/** A delay in the text of an error: `Please try again in 1.2s`, `300ms`, `2 seconds`. */
const ADVICE = /try again in\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|seconds?|s)\b/i;

/** Upper bound of a delay, as of those in headers: 24 hours. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

/** The delay in the text of an error, ms, at most a day. */
export function readAdvice(message: string): number | undefined {
  const [, amount, unit] = ADVICE.exec(message) ?? [];
  if (amount === undefined) return undefined;
  return Math.min(Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1000), LONGEST_MS);
}

/**
 * The delays that an error states: in `retry-after`, which not every profile reads, or in its text, if its code is one of those whose
 * text has a delay.
 */
export function readDelays({ headers = {}, code, message }: DelaySources, { profile, now }: FailureContext): Delays {
  const advised = profile.delayCodes.has(code ?? '') ? readAdvice(message) : undefined;
  const stated = readRetryAfter(headers, now) ?? advised;
  const read = profile.readsRetryAfter ? stated : advised;
  return {
    ...(read === undefined ? {} : { retryAt: now + read }),
    ...(stated === undefined ? {} : { statedAt: now + stated }),
  };
}
