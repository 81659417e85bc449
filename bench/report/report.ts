import type { Comparison, Sizes } from '../cases/benchmark-case.ts';
import type { Machine } from '../machine.ts';

/** All that a run gave; what `--json` writes. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly { readonly name: string; readonly comparisons: readonly Comparison[] }[];
}
