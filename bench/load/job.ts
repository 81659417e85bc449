/** Streams that run side by side, each one turn after the other. */
export interface SseJob {
  readonly type: 'sse';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly streams: number;
  readonly turnsPerStream: number;
}

/** What a turn continues: the one before it on its socket, no other, or the response with this id. */
export type Predecessor = 'the one before' | 'none' | { readonly responseId: string };

/** Turns one after the other, first all of one socket, then those of the next. The sockets stay open for later jobs. */
export interface SocketJob {
  readonly type: 'socket';
  readonly url: string;
  /** A request without what it continues, JSON. */
  readonly body: string;
  readonly predecessor: Predecessor;
  readonly sockets: number;
  readonly turnsPerSocket: number;
}

/** Streams that run side by side, each one turn after the other, and how long their clients wait. Deltas carry stamps. */
export interface TimedJob {
  readonly type: 'timed';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly streams: number;
  /** Time over which the streams begin, evenly, ms. What happens before all of them run is not measured. */
  readonly spreadMs: number;
  /** Turns that are measured, of all streams together. All streams go on until the last of them has begun. */
  readonly turns: number;
  /** Deltas in each answer. */
  readonly deltas: number;
}

/** What the load generator can be asked to do. Another kind of load is another member, and a runner in `main.ts`. */
export type Job = SseJob | SocketJob | TimedJob;

/** What came back. */
export interface Outcome {
  readonly turns: number;
  /** Events without `[DONE]`. */
  readonly events: number;
  /** Bytes of the answers' bodies. */
  readonly bytes: number;
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
}

/** What came back over sockets. */
export interface SocketOutcome {
  /** The ids of the responses, in their order. */
  readonly responseIds: readonly string[];
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
}

/** Half of the values are no more than `p50`, 99 of a hundred no more than `p99`. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** What came back, and when. */
export interface TimedOutcome {
  /** All turns, with those that were not measured. */
  readonly turns: number;
  /** Frames of all turns, with `[DONE]`. */
  readonly frames: number;
  /** Bytes of the bodies of all turns. */
  readonly bytes: number;
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
  /** From the request to its first delta, ms. */
  readonly firstDelta: Percentiles;
  /** From when the upstream wrote a delta until it was here, ms. */
  readonly delay: Percentiles;
  /** From the request to the end of its answer, ms. */
  readonly whole: Percentiles;
}

/** What each kind of job gives. */
export interface OutcomeOf {
  readonly sse: Outcome;
  readonly socket: SocketOutcome;
  readonly timed: TimedOutcome;
}
