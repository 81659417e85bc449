/** Requests with many items, to parse or to validate. */
export interface ValidationJob {
  readonly type: 'validation';
  readonly step: 'parse' | 'check';
  readonly requests: number;
}

/** The outcome of a validation job. */
export interface ValidationOutcome {
  readonly type: 'validation';
  /** Time of the measured step for all requests. */
  readonly cpuMicroseconds: number;
}
