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

/** Asks a process how much memory it needs: what is not in use any more is freed first. */
export interface MemoryQuestion {
  readonly type: 'memory';
}

/** What a process has in memory. */
export interface MemoryAnswer {
  readonly type: 'memory';
  /** All of the process that is in RAM. */
  readonly rssBytes: number;
  /** Objects of JavaScript, and what they hold outside of its heap. */
  readonly heapBytes: number;
}

/** Tells a process to begin counting, or to end it and to say what it has counted. */
export interface CountQuestion {
  readonly type: 'count';
  readonly step: 'begin' | 'end';
  /** Promises that it makes, or bytes that it allocates on its heap. */
  readonly what: 'promises' | 'bytes';
}

/** What a process has counted. */
export interface CountAnswer {
  readonly type: 'count';
  /** Null when memory was freed meanwhile, so that nobody knows how many bytes there were. */
  readonly count: number | null;
}
