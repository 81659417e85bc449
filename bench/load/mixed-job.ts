/** Everything that clients do, good and bad, side by side for some time. */
export interface MixedJob {
  readonly type: 'mixed';
  /** Of the server, `http://…`. */
  readonly origin: string;
  readonly milliseconds: number;
}

/** What the clients did. */
export interface MixedOutcome {
  /** Turns that were begun, or refused. */
  readonly turns: number;
}
