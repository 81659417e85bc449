import type { Percentiles, StreamedOutcome } from './job.ts';

/** Streams one after the other, of which only the times of their first events are measured. */
export interface FirstEventsJob {
  readonly type: 'first events';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly requests: number;
}

/** Times from a request to the events of its answer, ms. */
export interface FirstEventsOutcome {
  readonly created: Percentiles;
  readonly inProgress: Percentiles;
}

/** One background stream, followed by its creator and by others until its end. */
export interface FollowJob {
  readonly type: 'follow';
  readonly url: string;
  /** The body of the request, JSON. */
  readonly body: string;
  /** The creator included. */
  readonly readers: number;
}

/** The outcome of a followed stream. Each reader counts as a turn. */
export interface FollowOutcome extends StreamedOutcome {
  readonly responseId: string;
}

/** Background turns without streams, from the first request until none of them waits or runs. */
export interface DrainJob {
  readonly type: 'drain';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  /** Concurrent requests. */
  readonly concurrency: number;
  readonly requests: number;
}
