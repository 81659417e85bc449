import type { StreamEvent } from '../../protocol/index.js';
import type { EventSink } from './event-sink.js';

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
