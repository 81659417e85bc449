import { isTokenCount } from '../../../protocol/index.js';
import { isObject, parseJson } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';

/** The usage of an answer; all counts are there. */
export type ChatUsage = Required<Omit<Extract<ModelEvent, { readonly type: 'usage' }>, 'searches'>>;

/** The usage after a further count: a zero does not replace what was counted before. */
export function mergeUsage(before: ChatUsage, later: ChatUsage): ChatUsage {
  const input = later.input || before.input;
  const output = later.output || before.output;
  return {
    type: 'usage',
    input,
    output,
    cached: Math.min(later.cached || before.cached, input),
    cacheWrite: Math.min(later.cacheWrite || before.cacheWrite, input),
    reasoning: Math.min(later.output === 0 ? before.reasoning : later.reasoning, output),
  };
}

/**
 * The usage of a chunk or a choice as an event, whatever its server calls the counts; undefined if they are missing or invalid.
 * `timings` are those of llama.cpp.
 */
export function readUsage(given: unknown, timings?: unknown): ChatUsage | undefined {
  const usage = typeof given === 'string' ? parseJson(given) : given;
  if (!isObject(usage)) return undefined;
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens);
  const completion = firstCount(usage.completion_tokens, usage.output_tokens);
  if (prompt === undefined || completion === undefined) return undefined;
  const inputDetails = detailsOf(usage.prompt_tokens_details, usage.input_tokens_details);
  const outputDetails = detailsOf(usage.completion_tokens_details, usage.output_tokens_details);
  const cached =
    firstCount(
      inputDetails.cached_tokens,
      usage.cached_tokens,
      usage.prompt_cache_hit_tokens,
      usage.cache_read_input_tokens,
      isObject(timings) ? timings.cache_n : undefined,
    ) ?? 0;
  const written =
    firstCount(
      inputDetails.cache_write_tokens,
      inputDetails.cache_creation_tokens,
      usage.cache_creation_input_tokens,
    ) ?? 0;
  const thought = firstCount(outputDetails.reasoning_tokens, usage.reasoning_tokens) ?? 0;
  // Some upstreams leave the reasoning out of the output, others the cache out of the input: the total has both.
  const missing = Math.max((firstCount(usage.total_tokens) ?? 0) - prompt - completion, 0);
  const isOfCache = missing > 0 && missing !== thought && missing === cached + written;
  const input = isOfCache ? prompt + missing : prompt;
  const output = isOfCache ? completion : completion + missing;
  return {
    type: 'usage',
    input,
    output,
    cached: Math.min(cached, input),
    cacheWrite: Math.min(written, input),
    reasoning: Math.min(thought || output - completion, output),
  };
}

/** The details of a count, under one of two names. */
function detailsOf(...values: readonly unknown[]): Readonly<Record<string, unknown>> {
  return values.find(isObject) ?? {};
}

/** The first count that there is: servers have different names for it. */
function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = toCount(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** A count, which some servers write as text. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return isTokenCount(count) ? count : undefined;
}
