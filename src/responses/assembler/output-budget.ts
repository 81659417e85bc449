import { ProviderContractError } from './output-item.js';
import type { ItemEvent } from './reduce-event.js';

/** Bounds what a model may write in one response: one without end must not fill the memory. */
export class OutputBudget {
  private spent = 0;

  constructor(private readonly maxCharacters: number) {}

  /**
   * Counts an event, and tells whether there is anything in it. What is not plain text is counted as JSON, so that what
   * cannot be JSON is found out before it changes anything. Throws ProviderContractError when the budget is spent.
   */
  charge(event: ItemEvent): boolean {
    const text = textOf(event);
    if (text === undefined || 'logprobs' in event) this.spent += JSON.stringify(event).length;
    else if (typeof text !== 'string') throw new ProviderContractError(`a delta must be a string, not ${typeof text}`);
    else this.spent += 1 + text.length;
    if (this.spent > this.maxCharacters) {
      throw new ProviderContractError(`the output is longer than ${this.maxCharacters} characters`);
    }
    return text !== '';
  }
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
