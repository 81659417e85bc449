import { ProviderContractError } from './output-item.js';
import type { ItemEvent } from './reduce-event.js';

/**
 * Bounds what models may write in one response: one without end must not fill the memory. Tells whether there is anything in an
 * event. What is not plain text has to be JSON, which is found out before it changes anything. Throws ProviderContractError for
 * what is not, and when the event would bring the response beyond `maxCharacters`.
 */
export function fitsBudget(characters: number, event: ItemEvent, maxCharacters: number): boolean {
  const text = textOf(event);
  let length: number;
  if (text === undefined || 'logprobs' in event) length = JSON.stringify(event).length;
  else if (typeof text !== 'string') throw new ProviderContractError(`a delta must be a string, not ${typeof text}`);
  else length = 1 + text.length;
  if (characters + length > maxCharacters) {
    throw new ProviderContractError(`the output is longer than ${maxCharacters} characters`);
  }
  return text !== '';
}

/** The text of an event that carries nothing but text; undefined for all others. */
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

/** A provider that is not written in TypeScript may leave the text out; that must not look like an event without text. */
function orNothing(text: string | undefined): string | null {
  return text ?? null;
}
