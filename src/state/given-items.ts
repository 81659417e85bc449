import type { Item } from '../protocol/index.js';

/** Items that a turn added to its transcript between two passes of the model, without showing them in its output. */
export interface GivenItems<T = Item> {
  /** How many items of the response's output come before them. */
  readonly after: number;
  readonly items: readonly T[];
}

/**
 * What a response adds to its transcript behind its input: its output with the given items at their places. `given` is
 * ascending by `after`; what comes after more items than there are comes last.
 */
export function interleave<T>(output: readonly T[], given: readonly GivenItems<T>[]): readonly T[] {
  const last = given.at(-1);
  // Most turns give nothing.
  if (last === undefined) return output;
  const upToLast = given.flatMap(({ after, items }, index) => [
    ...output.slice(given[index - 1]?.after ?? 0, after),
    ...items,
  ]);
  return [...upToLast, ...output.slice(last.after)];
}
