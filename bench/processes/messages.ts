/** Asks a process how much CPU it has used. */
export interface UsageQuestion {
  readonly type: 'usage';
}

/** What a process has used since its start. */
export interface UsageAnswer {
  readonly type: 'usage';
  readonly cpuMicroseconds: number;
}

/** Asks a server how often it has asked its database. */
export interface RoundTripsQuestion {
  readonly type: 'round trips';
}

/** What a server has asked its database since its start. */
export interface RoundTripsAnswer {
  readonly type: 'round trips';
  readonly roundTrips: number;
}
