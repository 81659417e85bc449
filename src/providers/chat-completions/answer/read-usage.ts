import { isObject } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';

/** The usage of an answer; all counts are there. */
export type Usage = Required<Extract<ModelEvent, { readonly type: 'usage' }>>;

/** The usage after a further count: a zero does not replace what was counted before. */
export function mergeUsage(before: Usage, later: Usage): Usage {
  const input = later.input || before.input;
  const output = later.output || before.output;
  return {
    type: 'usage',
    input,
    output,
    cached: Math.min(later.cached || before.cached, input),
    cacheWrite: Math.min(later.cacheWrite || before.cacheWrite, input),
    reasoning: Math.min(later.reasoning || before.reasoning, output),
  };
}

/** The usage of a chunk as an event; undefined if counts are missing or invalid. `timings` are those of llama.cpp. */
export function readUsage(usage: unknown, timings?: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const input = toCount(usage.prompt_tokens);
  const completion = toCount(usage.completion_tokens);
  if (input === undefined || completion === undefined) return undefined;
  const inputDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const outputDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const cached = firstCount(
    inputDetails.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cache_read_input_tokens,
    isObject(timings) && timings.cache_n,
  );
  const written = firstCount(
    inputDetails.cache_write_tokens,
    inputDetails.cache_creation_tokens,
    usage.cache_creation_input_tokens,
  );
  const reasoning = toCount(outputDetails.reasoning_tokens) ?? toCount(usage.reasoning_tokens) ?? 0;
  // Some upstreams exclude reasoning from the completion tokens; the total reveals it.
  const isApart = reasoning > 0 && toCount(usage.total_tokens) === input + completion + reasoning;
  const output = isApart ? completion + reasoning : completion;
  return {
    type: 'usage',
    input,
    output,
    cached: Math.min(cached, input),
    cacheWrite: Math.min(written, input),
    reasoning: Math.min(reasoning, output),
  };
}

/** The first count that there is: servers have different names for it. 0 without any. */
function firstCount(...values: readonly unknown[]): number {
  for (const value of values) {
    const count = toCount(value);
    if (count !== undefined) return count;
  }
  return 0;
}

function toCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
