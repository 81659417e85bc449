import type { Item } from '../protocol/index.js';

/** Items that a policy gave the model between two passes; they are part of the transcript, but not of the output. */
export interface GivenItems<T = Item> {
  /** The number of output items that precede them. */
  readonly after: number;
  readonly items: readonly T[];
}

/**
 * The items of a response after its input: its output with the given items at their positions. `given` is ascending by
 * `after`; positions beyond the output come last.
 */
export function interleave<T>(output: readonly T[], given: readonly GivenItems<T>[]): readonly T[] {
  const last = given.at(-1);
  // The common case.
  if (last === undefined) return output;
  const upToLast = given.flatMap(({ after, items }, index) => [
    ...output.slice(given[index - 1]?.after ?? 0, after),
    ...items,
  ]);
  return [...upToLast, ...output.slice(last.after)];
}

/**
 * The items that are given between those of an output, when the transcript of both is known. Of two that are the same, the first
 * counts as output: the transcript is the same.
 */
export function givenBetween(output: readonly Item[], transcript: readonly Item[]): readonly GivenItems[] {
  const texts = output.map((item) => JSON.stringify(item));
  let next = 0;
  const marked = transcript.map((item) => {
    const isGiven = next === texts.length || JSON.stringify(item) !== texts[next];
    if (!isGiven) next += 1;
    return { isGiven, item };
  });
  return separate(marked).given;
}

/** The reverse of `interleave`. */
export function separate(items: readonly { readonly isGiven: boolean; readonly item: Item }[]): {
  readonly output: readonly Item[];
  readonly given: readonly GivenItems[];
} {
  const output: Item[] = [];
  const given: { after: number; items: Item[] }[] = [];
  for (const { isGiven, item } of items) {
    if (!isGiven) output.push(item);
    else if (given.at(-1)?.after === output.length) given.at(-1)?.items.push(item);
    else given.push({ after: output.length, items: [item] });
  }
  return { output, given };
}
