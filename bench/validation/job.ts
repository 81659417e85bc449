/** Requests of many items that are parsed, or parsed before and checked. */
export interface ValidationJob {
  readonly type: 'validation';
  readonly step: 'parse' | 'check';
  readonly requests: number;
}

/** What it cost. */
export interface ValidationOutcome {
  readonly type: 'validation';
  /** Of the step alone, for all requests. */
  readonly cpuMicroseconds: number;
}
