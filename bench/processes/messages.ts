/** Requests the CPU usage of a process. */
export interface UsageQuestion {
  readonly type: 'usage';
}

/** CPU usage of a process since its start. */
export interface UsageAnswer {
  readonly type: 'usage';
  readonly cpuMicroseconds: number;
}

/** Requests the number of database round trips of a server. */
export interface RoundTripsQuestion {
  readonly type: 'round trips';
}

/** Database round trips of a server since its start. */
export interface RoundTripsAnswer {
  readonly type: 'round trips';
  readonly roundTrips: number;
}

/** Requests the memory usage of a process after garbage collection. */
export interface MemoryQuestion {
  readonly type: 'memory';
}

/** Memory usage of a process. */
export interface MemoryAnswer {
  readonly type: 'memory';
  /** Resident set size, bytes. */
  readonly rssBytes: number;
  /** JavaScript heap and external memory, bytes. */
  readonly heapBytes: number;
}

/** Begins counting in a process, or ends it and requests the count. */
export interface CountQuestion {
  readonly type: 'count';
  readonly step: 'begin' | 'end';
  /** Created promises, or bytes allocated on the heap. */
  readonly what: 'promises' | 'bytes';
}

/** The count of a process. */
export interface CountAnswer {
  readonly type: 'count';
  /** Null if memory was freed meanwhile, so that the number of bytes is unknown. */
  readonly count: number | null;
}
