import { isObject, parseJson } from '../../../validation/index.js';
import type { ForeignEvent } from '../../model-event.js';

/** Ends the stream of some servers; carries nothing. */
const DONE = '[DONE]';

/**
 * Parses an event of an upstream's stream; its members besides `type` may be of any type. Null for text that is no event: invalid
 * JSON, or no object with a `type`.
 */
export function parseEvent(json: string): ForeignEvent | null {
  const event = parseJson(json);
  return isObject(event) && typeof event.type === 'string' ? (event as ForeignEvent) : null;
}

/** Whether a text that is no event is part of the stream's form. */
export function isEndMark(text: string): boolean {
  return text.trim() === DONE;
}
