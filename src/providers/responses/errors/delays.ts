import { readAdvice, readRetryAfter } from '../../upstream-errors/retry-after.js';
import type { Profile } from '../profile.js';
import type { UpstreamHeaders } from '../transport/exchange.js';

/** What the class of a failure depends on besides the failure. */
export interface ReadingContext {
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
  /** That of its details, as in `34s`. */
  readonly retryDelay?: string | undefined;
}

/**
 * The delays that an error states: in `retry-after` or its details, which not every profile reads, or in its text, if its code is one of those whose
 * text has a delay.
 */
export function readDelays(
  { headers = {}, code, message, retryDelay = '' }: DelaySources,
  { profile, now }: ReadingContext,
): Delays {
  const advised = profile.delayCodes.has(code ?? '') ? readAdvice(message) : undefined;
  const stated = readRetryAfter(headers, now) ?? readAdvice(`retry in ${retryDelay}`) ?? advised;
  const read = profile.readsRetryAfter ? stated : advised;
  return {
    ...(read === undefined ? {} : { retryAt: now + read }),
    ...(stated === undefined ? {} : { statedAt: now + stated }),
  };
}
