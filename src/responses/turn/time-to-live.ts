import type { Environment } from '../../config/index.js';
import { aboveMaximum, belowMinimum, wrongType } from '../../validation/index.js';

/** Request headers, by their names in lower case. */
export type RequestHeaders = Readonly<Record<string, unknown>>;

const HEADER = 'x-response-ttl';

/** The lifetime of a response, seconds. Throws ApiError 400 for a value that is not an integer or out of bounds. */
export function readTimeToLive(
  headers: RequestHeaders,
  limits: Pick<Environment, 'RESPONSE_TTL' | 'RESPONSE_TTL_MAX'>,
): number {
  const value = headers[HEADER];
  if (value === undefined) return limits.RESPONSE_TTL;
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw wrongType('an integer', value).under(HEADER).toError();
  const seconds = Number(value);
  if (seconds < 1) throw belowMinimum('integer', 1, seconds).under(HEADER).toError();
  if (seconds > limits.RESPONSE_TTL_MAX) {
    throw aboveMaximum('integer', limits.RESPONSE_TTL_MAX, seconds).under(HEADER).toError();
  }
  return seconds;
}
