import type { ModelEvent } from '../../model-event.js';
import type { CallableTool } from './callable-tools.js';
import type { Answer } from './plan-answer.js';
import type { Reasoning } from './plan-reasoning.js';
import { splitIntoTokens } from './token-pieces.js';

/** An answer as the events of its items: the reasoning first, then the text or the call. */
export function* toEvents({ reasoning, tool, pieces }: Answer): Generator<ModelEvent> {
  if (reasoning !== undefined) yield* toReasoningEvents(reasoning);
  // Where reasoning took all there was, there is neither message nor call.
  if (pieces.length === 0) return;
  if (tool !== undefined) yield openCall(tool);
  const type =
    tool === undefined ? 'text' : tool.type === 'function' ? 'function_call_arguments' : 'custom_tool_call_input';
  for (const { text: delta } of pieces) yield { type, delta };
}

function* toReasoningEvents({ summary, encrypted }: Reasoning): Generator<ModelEvent> {
  for (const { text: delta } of splitIntoTokens(summary)) yield { type: 'reasoning_summary', delta, part: 0 };
  yield { type: 'reasoning_encrypted', content: encrypted };
}

function openCall({ type, name, namespace }: CallableTool): ModelEvent {
  const place = namespace === undefined ? {} : { namespace };
  return { type: type === 'function' ? 'function_call' : 'custom_tool_call', name, ...place };
}
