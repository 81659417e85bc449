import { isProtocolEvent } from '../../protocol/index.js';
import type { ForeignEvent } from '../../providers/index.js';
import { ProviderContractError, requireText } from './output-item.js';
import type { ItemEvent } from './reduce-event.js';
import { OVERHEAD_CHARACTERS } from './state.js';

/**
 * Checks an event against the output limit of a response. Returns whether the event has any content. Values other than
 * text must be serialisable as JSON, which is checked before anything changes. Throws ProviderContractError for invalid
 * values and when the event would exceed `maxCharacters`.
 */
export function fitsBudget(characters: number, event: ItemEvent, maxCharacters: number): boolean {
  const text = textOf(event);
  let length: number;
  if (text === undefined || 'logprobs' in event) length = JSON.stringify(event).length;
  else if (typeof text !== 'string') throw new ProviderContractError(`a delta must be a string, not ${typeof text}`);
  else length = 1 + text.length;
  requireRoom(characters + length, maxCharacters);
  return text !== '';
}

/**
 * Checks an event that is not part of the response, and returns its characters. Throws ProviderContractError unless it
 * has a type that the service does not send itself, and fits the output limit; TypeError if it is not JSON.
 */
export function requireForeign(characters: number, event: ForeignEvent, maxCharacters: number): number {
  const { type } = event;
  requireText(type, 'the type of an event');
  if (isProtocolEvent(type)) throw new ProviderContractError(`a provider cannot send the event ${type}`);
  const length = OVERHEAD_CHARACTERS + JSON.stringify(event).length;
  requireRoom(characters + length, maxCharacters);
  return length;
}

function requireRoom(characters: number, maxCharacters: number): void {
  if (characters <= maxCharacters) return;
  throw new ProviderContractError(`the output is longer than ${maxCharacters} characters`);
}

/** The text of an event without other content; undefined for all others. */
function textOf(event: ItemEvent): unknown {
  switch (event.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
    case 'reasoning_summary':
    case 'function_call_arguments':
    case 'custom_tool_call_input':
      return orNothing(event.delta);
    case 'reasoning_encrypted':
      return orNothing(event.content);
    default:
      return undefined;
  }
}

/** A provider that is not written in TypeScript may omit the text; that must not pass for an empty text. */
function orNothing(text: string | undefined): string | null {
  return text ?? null;
}
