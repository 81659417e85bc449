/** Figures of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** Values by round. */
  readonly values: readonly number[];
}

/** Summarises the values of rounds. */
export function toSpread(values: readonly number[]): Spread {
  return { median: toQuantile(values, 0.5), min: Math.min(...values), max: Math.max(...values), values };
}

/** A quantile, interpolated between the two nearest values. */
export function toQuantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  return at(below) + (at(Math.ceil(place)) - at(below)) * (place - below);
}
