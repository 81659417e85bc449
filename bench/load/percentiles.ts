import type { Percentiles } from './job.ts';

/** Percentiles of a non-empty list. */
export function toPercentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
