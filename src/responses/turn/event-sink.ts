import type { StreamEvent } from '../../protocol/index.js';
import type { AssemblerNote } from '../assembler/index.js';

/** Where the events of a turn go. A turn without a sink makes no text of them: that is the JSON transport. */
export interface EventSink {
  /**
   * Takes a batch of events, in the order of protocol §4. A promise says that the client has to catch up: nothing more comes
   * before it resolves, and the model waits. It never rejects, and does nothing once the client is gone.
   */
  write(events: readonly StreamEvent[]): Promise<void> | undefined;

  /**
   * Takes what no event says, just before the events that were written with it: with both, another process can go on with the
   * response. Without this method no notes are made.
   */
  note?(notes: readonly AssemblerNote[]): void;
}
