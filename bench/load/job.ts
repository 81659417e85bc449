import type { AgentJob, AgentOutcome } from './agent-job.ts';
import type { DrainJob, FirstEventsJob, FirstEventsOutcome, FollowJob, FollowOutcome } from './background-jobs.ts';
import type { MixedJob, MixedOutcome } from './mixed-job.ts';

/** Concurrent streams, each of which makes turns in sequence. */
export interface SseJob {
  readonly type: 'sse';
  readonly url: string;
  /** The body of every request, JSON. Without it, requests are GET. */
  readonly body?: string;
  readonly streams: number;
  readonly turnsPerStream: number;
}

/** What a turn continues: the previous turn on its socket, nothing, or the response with this id. */
export type Predecessor = 'the one before' | 'none' | { readonly responseId: string };

/** Turns on sockets, which stay open for later jobs. */
export interface SocketJob {
  readonly type: 'socket';
  readonly url: string;
  /** The request without `previous_response_id`, JSON. */
  readonly body: string;
  readonly predecessor: Predecessor;
  readonly sockets: number;
  readonly turnsPerSocket: number;
  /** Whether sockets make turns concurrently rather than one socket after another. */
  readonly isConcurrent?: boolean;
}

/** Requests that are not streamed. */
export interface JsonJob {
  readonly type: 'json';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  /** Concurrent requests. */
  readonly concurrency: number;
  readonly requests: number;
}

/** Opens or closes idle sockets until there are this many. */
export interface IdleJob {
  readonly type: 'idle';
  readonly url: string;
  readonly sockets: number;
}

/** Concurrent streams with measured latencies. Deltas carry stamps. */
export interface TimedJob {
  readonly type: 'timed';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly streams: number;
  /** Time over which the start of streams is spread evenly, ms. Turns before all streams run are not measured. */
  readonly spreadMs: number;
  /** Measured turns of all streams together. All streams continue until the last of these turns has begun. */
  readonly turns: number;
  /** Deltas in each answer. */
  readonly deltas: number;
  /** Whether incomplete answers are allowed. They are counted, and their stream ends. */
  readonly mayBreak?: boolean;
}

/** Jobs of the load generator. A new kind of load needs a member here and a runner in `main.ts`. */
export type Job =
  SseJob | SocketJob | JsonJob | IdleJob | TimedJob | AgentJob | MixedJob | FirstEventsJob | FollowJob | DrainJob;

/** The outcome of a job. */
export interface Outcome {
  /** Answers. */
  readonly turns: number;
  /** Bytes of bodies or messages. */
  readonly bytes: number;
  /** Time from the first request to the end of the last answer. */
  readonly seconds: number;
}

/** The outcome of streams. */
export interface StreamedOutcome extends Outcome {
  /** Events, excluding `[DONE]`. */
  readonly events: number;
}

/** The outcome of turns on sockets. */
export interface SocketOutcome extends StreamedOutcome {
  /** Ids of the responses in order, by socket. */
  readonly responseIds: readonly string[];
}

/** The number of open sockets. */
export interface IdleOutcome {
  readonly sockets: number;
}

/** The median, the 99th percentile and the maximum. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The outcome of timed streams. Counts include turns that were not measured. */
export interface TimedOutcome extends Outcome {
  /** Frames of all turns, including `[DONE]`. */
  readonly frames: number;
  /** Incomplete answers. They are excluded from the other figures. */
  readonly broken: number;
  /** Time from the request to its first delta, ms. */
  readonly firstDelta: Percentiles;
  /** Time from writing a delta at the upstream to receiving it, ms. */
  readonly delay: Percentiles;
  /** Gap between two received deltas, minus the gap between them at the upstream, ms. */
  readonly addedGap: Percentiles;
  /** Time from the request to the end of its answer, ms. */
  readonly whole: Percentiles;
}

/** Outcomes by kind of job. */
export interface OutcomeOf {
  readonly sse: StreamedOutcome;
  readonly socket: SocketOutcome;
  readonly json: Outcome;
  readonly idle: IdleOutcome;
  readonly timed: TimedOutcome;
  readonly agent: AgentOutcome;
  readonly mixed: MixedOutcome;
  readonly 'first events': FirstEventsOutcome;
  readonly follow: FollowOutcome;
  readonly drain: Outcome;
}
