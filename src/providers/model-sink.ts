import type { ModelEvent } from './model-event.js';

/** Where a provider that pushes puts its answer. */
export interface ModelSink {
  /** Aborts when the turn is stopped: the provider should stop at once. */
  readonly signal: AbortSignal;

  /** Whether nothing more is read: behind a `finish`, behind what no model may say, and once the turn was stopped. */
  readonly isClosed: boolean;

  /**
   * Takes a batch of events. Undefined says to go on; a promise, to write nothing more before it resolves. It never rejects
   * and never throws: what the answer comes to is no business of the provider.
   */
  write(batch: readonly ModelEvent[]): Promise<void> | undefined;
}
