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

/** What the load generator can be asked to do. Another kind of load is another member, and a runner in `main.ts`. */
export type Job = SseJob | SocketJob;

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

/** What each kind of job gives. */
export interface OutcomeOf {
  readonly sse: Outcome;
  readonly socket: SocketOutcome;
}
