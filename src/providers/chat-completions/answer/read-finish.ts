import type { FinishReason } from '../../model-event.js';

/** Reasons beyond those that mean an ordinary end: `stop`, `tool_calls`, `eos`, `end_turn` and whatever else there is. */
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

/** Why the model stopped; `error` where its server gave up, undefined while it goes on. */
export function readFinish(reason: unknown): FinishReason | 'error' | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  return REASONS.get(reason.toLowerCase()) ?? 'stop';
}
