import type { Usage } from './wire.js';

/** Tokens of a turn, summed over its passes. */
export interface TokenCounts {
  readonly input: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  /** Reasoning tokens included (protocol §8). */
  readonly output: number;
  readonly reasoning?: number;
}

/** More than any model reads or writes in one pass. Larger counts are mistakes, and sums of them would not be exact. */
const MOST_TOKENS = 2 ** 31 - 1;

/** Whether an upstream or a provider may count so many tokens. */
export function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_TOKENS;
}

/** Token counts in the wire's shape; reasoning is part of output, total is input plus output (protocol §8). */
export function toUsage(counts: TokenCounts): Usage {
  return {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached ?? 0, cache_write_tokens: counts.cacheWrite ?? 0 },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning ?? 0 },
    total_tokens: counts.input + counts.output,
  };
}
