/** How far a count of tokens has to go. */
export interface CountOptions {
  /** Aborts when nobody needs the count any more; the count then rejects. */
  readonly signal?: AbortSignal | undefined;
  /** A count beyond `limit` may stop: anything above it is enough. */
  readonly limit?: number | undefined;
  /** Asks the upstream, if it can count; otherwise the count is local, and may be an estimate. */
  readonly exact?: boolean | undefined;
}
