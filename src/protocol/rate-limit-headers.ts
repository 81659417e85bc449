/** Headers of rate limits: the plain ones, and those of the families that Codex reads. The groups are the family. */
const RATE_LIMIT_HEADER =
  /^(?:(x-ratelimit)-.+|(x-.+?)-(?:(?:primary|secondary)-.+|credits-.+|limit-name|active-limit|promo-message|rate-limit-reached-type))$/i;

/** The family of a header that states a rate limit, such as `x-ratelimit` or `x-codex`; undefined for any other header. */
export function rateLimitFamilyOf(name: string): string | undefined {
  const match = RATE_LIMIT_HEADER.exec(name);
  return match?.[1] ?? match?.[2];
}

/** Whether a header states a rate limit. */
export function isRateLimitHeader(name: string): boolean {
  return RATE_LIMIT_HEADER.test(name);
}
