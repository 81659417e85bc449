import type { StreamEvent } from '../../protocol/index.js';
import type { AssemblerNote } from '../assembler/state.js';

/** Receives the events of a turn. Without a sink no events are made: that is the JSON transport. */
export interface EventSink {
  /**
   * Takes a batch of events, in the order of protocol §4. A returned promise pauses the model until it resolves. It
   * never rejects, and does nothing once the client has disconnected.
   */
  write(events: readonly StreamEvent[]): Promise<void> | undefined;

  /**
   * Takes the notes, just before the events that were written with them: with both, another process can continue the
   * response. Without this method no notes are made.
   */
  note?(notes: readonly AssemblerNote[]): void;

  /** Resolves once another process would find all that was written. Rejects when it cannot be written any more. */
  stored?(): Promise<void>;
}
