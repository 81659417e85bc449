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

/** The events that the Open Responses specification names otherwise than OpenAI (docs/decisions/2026-11-22-event-names.md). */
const OPEN_RESPONSES_NAMES: ReadonlyMap<string, string> = new Map([
  ['response.reasoning_text.delta', 'response.reasoning.delta'],
  ['response.reasoning_text.done', 'response.reasoning.done'],
]);

/**
 * A sink whose events arrive under the names of EVENT_NAMES. With `openai` it is the sink itself: only clients that ask
 * for other names pay for them, and everything before a transport knows OpenAI's.
 */
export function withEventNames(sink: EventSink, names: 'openai' | 'openresponses'): EventSink {
  if (names === 'openai') return sink;
  return { write: (events) => sink.write(events.map(rename)) };
}

function rename(event: StreamEvent): StreamEvent {
  const type = OPEN_RESPONSES_NAMES.get(event.type);
  if (type === undefined) return event;
  // The type is the first member of every event.
  return { ...event, type, json: `{"type":"${type}"${event.json.slice(`{"type":"${event.type}"`.length)}` };
}
