/** One request to an upstream, as its provider reports it to `ModelSink.attempted`. */
export interface UpstreamAttempt {
  /** The name of the provider, as in PROVIDERS_FILE. */
  readonly provider: string;
  /** The name of the model at the upstream. */
  readonly model: string;
  /** `retry`: the same provider again; `fallback`: another provider than the one before. */
  readonly kind: 'first' | 'retry' | 'fallback';
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Up to its end, ms. */
  readonly durationMs: number;
  /** Up to its first output, ms; null without one. */
  readonly firstOutputMs: number | null;
  /** The code of the error that ended it; null when it has answered, or was stopped with its turn. */
  readonly errorCode: string | null;
}
