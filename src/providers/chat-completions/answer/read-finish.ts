import type { FinishReason } from '../../model-event.js';

/**
 * Reasons other than a normal end, by what is in their names, of which the first counts: some servers pass on those of the model's own
 * API, and Gemini's says both, as in `content_filter: RECITATION`. Any other reason, such as `stop`, `tool_calls` or `eos`, is a normal
 * end.
 */
const REASONS: readonly (readonly [name: RegExp, reason: FinishReason | 'error'])[] = [
  // The server has left out a call that it could not read.
  [/malformed_function_call|malformed_response|unexpected_tool_call/, 'error'],
  [/content_?filter|guardrail|safety|sensitive|toxic|recitation|prohibited|blocklist|spii|refusal/, 'content_filter'],
  [/length|max_(?:\w+_)?tokens|(?:token|time|error)_limit|context_window/, 'length'],
  [/^(?:error|abort(?:ed)?|(?:user_)?cancel(?:led|ed)?|timeout|network_error|insufficient_system_resource)$/, 'error'],
];

/** Why the model stopped: `error` if its server failed, undefined while it continues. */
export function readFinish(reason: unknown): FinishReason | 'error' | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  const name = nameOf(reason);
  return REASONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'stop';
}

/** Whether the model stopped to call tools. */
export function endsWithCalls(reason: unknown): boolean {
  return typeof reason === 'string' && /^(?:tool|function)_(?:calls?|use)$/.test(nameOf(reason));
}

function nameOf(reason: string): string {
  return reason.toLowerCase().replace(/[-\s]/g, '_');
}
