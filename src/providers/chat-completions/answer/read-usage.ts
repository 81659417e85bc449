import { isObject } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';

/** The usage of a chunk as an event; undefined if counts are missing or invalid. */
export function readUsage(usage: unknown): ModelEvent | undefined {
  if (!isObject(usage)) return undefined;
  const input = toCount(usage.prompt_tokens);
  const completion = toCount(usage.completion_tokens);
  if (input === undefined || completion === undefined) return undefined;
  const inputDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const outputDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const cached = toCount(inputDetails.cached_tokens) ?? toCount(usage.prompt_cache_hit_tokens) ?? 0;
  const reasoning = toCount(outputDetails.reasoning_tokens) ?? toCount(usage.reasoning_tokens) ?? 0;
  // Some upstreams exclude reasoning from the completion tokens; the total reveals it.
  const isApart = reasoning > 0 && toCount(usage.total_tokens) === input + completion + reasoning;
  const output = isApart ? completion + reasoning : completion;
  return {
    type: 'usage',
    input,
    output,
    cached: Math.min(cached, input),
    cacheWrite: Math.min(toCount(inputDetails.cache_write_tokens) ?? 0, input),
    reasoning: Math.min(reasoning, output),
  };
}

function toCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
