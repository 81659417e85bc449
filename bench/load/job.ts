/** Streams that run side by side, each one turn after the other. */
export interface SseJob {
  readonly type: 'sse';
  readonly url: string;
  /** The body of every request, JSON. */
  readonly body: string;
  readonly streams: number;
  readonly turnsPerStream: number;
}

/** What the load generator can be asked to do. Another kind of load is another member, and a runner in `main.ts`. */
export type Job = SseJob;

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
