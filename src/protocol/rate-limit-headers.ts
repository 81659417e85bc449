/** Headers that state a rate limit: the plain ones, and those of the families that Codex reads, such as `x-codex-primary-…`. */
const RATE_LIMIT_HEADER =
  /^(?:x-ratelimit-.+|x-.+?-(?:(?:primary|secondary)-.+|credits-.+|limit-name|active-limit|promo-message|rate-limit-reached-type))$/i;

/** Whether a header states a rate limit. */
export function isRateLimitHeader(name: string): boolean {
  return RATE_LIMIT_HEADER.test(name);
}
