import type { ModelEvent } from './model-event.js';

/** Receives the answer of a provider that implements `push`. */
export interface ModelSink {
  /** Aborts when the turn is stopped; the provider must stop at once. */
  readonly signal: AbortSignal;

  /** Whether further events are ignored: after `finish`, after an invalid event, and once the turn is stopped. */
  readonly isClosed: boolean;

  /**
   * Whether nobody reads the answer before its end, neither a client nor a policy: a provider may then ask its upstream for all of it
   * at once. Absent: it is read as it comes.
   */
  readonly isReadAtEnd?: boolean | undefined;

  /**
   * Takes a batch of events; an empty one says that the model is alive. If it returns a promise, the provider must wait for it before the next write. Never throws; the
   * promise never rejects.
   */
  write(batch: readonly ModelEvent[]): Promise<void> | undefined;

  /**
   * Takes what the request under way has told the client before its output: `metadata` with headers, and events beside the response. All of
   * it each time; it takes the place of what an earlier request has told. It is passed on with the first output, or when a stream begins
   * without any; a stream that is to begin waits some time for it to be `isWhole`. Absent: the provider writes it with its first output.
   */
  head?(events: readonly ModelEvent[], isWhole: boolean): void;

  /** Takes the record of a request to an upstream, once it is over; for metrics and traces. */
  attempted?(attempt: UpstreamAttempt): void;

  /** The provider asks its upstream again, after an error with this code, at a time in milliseconds since the epoch. */
  repeated?(errorCode: string, failedAt: number): void;

  /** Takes what the provider is about to do about a failure, at once; it is no output. */
  notice?(notice: UpstreamNotice): void;
}

/** One request to an upstream, as its provider reports it to `ModelSink.attempted`. */
export interface UpstreamAttempt {
  /** The name of the provider, as in PROVIDERS_FILE. */
  readonly provider: string;
  /** The name of the model at the upstream. */
  readonly model: string;
  /** `retry`: the same provider again; `fallback`: another provider than the one before. */
  readonly kind: 'first' | 'retry' | 'fallback';
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Up to its end, ms. */
  readonly durationMs: number;
  /** Up to its first output, ms; null without one. */
  readonly firstOutputMs: number | null;
  /** The code of the error that ended it; null when it has answered, or was stopped with its turn. */
  readonly errorCode: string | null;
}

/**
 * What a provider does about a failure of its upstream before the first output, for a client that waits (upstreams §5.3). Its members are
 * those of the event.
 */
export interface UpstreamNotice {
  /** `reconnecting`: the same request again; `fallback`: over another transport. */
  readonly notice: 'reconnecting' | 'fallback';
  /** What Codex says of it. */
  readonly message: string;
  /** The code that the failure would have for the client. */
  readonly code: string;
  /** Of `reconnecting`: its number, from 1, the most there may be, and the pause before it, ms. */
  readonly attempt?: number;
  readonly max_attempts?: number;
  readonly delay_ms?: number;
}
