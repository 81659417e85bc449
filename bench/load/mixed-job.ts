/** A mix of valid, invalid and aborted requests for some time. */
export interface MixedJob {
  readonly type: 'mixed';
  /** Origin of the server, `http://…`. */
  readonly origin: string;
  readonly milliseconds: number;
}

/** The outcome of a mixed job. */
export interface MixedOutcome {
  /** Turns begun or refused. */
  readonly turns: number;
}
