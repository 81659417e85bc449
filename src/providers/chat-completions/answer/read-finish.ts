import type { FinishReason } from '../../model-event.js';

/** Reasons other than a normal end. Any other reason, such as `stop`, `tool_calls` or `eos`, maps to `stop`. */
const REASONS = new Map<string, FinishReason | 'error'>([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content_filter'],
  ['content-filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['error', 'error'],
  ['abort', 'error'],
  ['aborted', 'error'],
  ['cancelled', 'error'],
  ['network_error', 'error'],
  ['insufficient_system_resource', 'error'],
]);

/** Why the model stopped: `error` if its server failed, undefined while it continues. */
export function readFinish(reason: unknown): FinishReason | 'error' | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  return REASONS.get(reason.toLowerCase()) ?? 'stop';
}

/** Whether the model stopped to call tools. */
export function endsWithCalls(reason: unknown): boolean {
  return reason === 'tool_calls' || reason === 'function_call';
}
