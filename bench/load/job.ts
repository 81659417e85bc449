import type { AgentJob, AgentOutcome } from './agent-job.ts';
import type { MixedJob, MixedOutcome } from './mixed-job.ts';

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

/** Turns on sockets, which stay open for later jobs. */
export interface SocketJob {
  readonly type: 'socket';
  readonly url: string;
  /** A request without what it continues, JSON. */
  readonly body: string;
  readonly predecessor: Predecessor;
  readonly sockets: number;
  readonly turnsPerSocket: number;
  /** Whether all sockets make turns at once. Otherwise one begins when the one before it has made all of its turns. */
  readonly isConcurrent?: boolean;
}

/** Requests that are not streamed. */
export interface JsonJob {
  readonly type: 'json';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  /** Requests that are on their way at the same time. */
  readonly concurrency: number;
  readonly requests: number;
}

/** Sockets that carry nothing: from now on there are this many, others are closed. */
export interface IdleJob {
  readonly type: 'idle';
  readonly url: string;
  readonly sockets: number;
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
  /** Whether an answer may be less than a whole stream: it is counted then, and its stream ends. */
  readonly mayBreak?: boolean;
}

/** What the load generator can be asked to do. Another kind of load is another member, and a runner in `main.ts`. */
export type Job = SseJob | SocketJob | JsonJob | IdleJob | TimedJob | AgentJob | MixedJob;

/** What came back. */
export interface Outcome {
  /** Answers. */
  readonly turns: number;
  /** Bytes of the answers' bodies, or of their messages. */
  readonly bytes: number;
  /** From the first request to the end of the last answer. */
  readonly seconds: number;
}

/** What came back in events. */
export interface StreamedOutcome extends Outcome {
  /** Events without `[DONE]`. */
  readonly events: number;
}

/** What came back over sockets. */
export interface SocketOutcome extends StreamedOutcome {
  /** The ids of the responses, of each socket in their order. */
  readonly responseIds: readonly string[];
}

/** How many sockets are open. */
export interface IdleOutcome {
  readonly sockets: number;
}

/** Half of the values are no more than `p50`, 99 of a hundred no more than `p99`, none more than `max`. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What came back, and when. It counts all turns, with those that were not measured. */
export interface TimedOutcome extends Outcome {
  /** Frames of all turns, with `[DONE]`. */
  readonly frames: number;
  /** Answers that broke off. Nothing else of them is counted. */
  readonly broken: number;
  /** From the request to its first delta, ms. */
  readonly firstDelta: Percentiles;
  /** From when the upstream wrote a delta until it was here, ms. */
  readonly delay: Percentiles;
  /** How much longer a delta was behind the one before it here than where the upstream wrote them, ms. */
  readonly addedGap: Percentiles;
  /** From the request to the end of its answer, ms. */
  readonly whole: Percentiles;
}

/** What each kind of job gives. */
export interface OutcomeOf {
  readonly sse: StreamedOutcome;
  readonly socket: SocketOutcome;
  readonly json: Outcome;
  readonly idle: IdleOutcome;
  readonly timed: TimedOutcome;
  readonly agent: AgentOutcome;
  readonly mixed: MixedOutcome;
}
