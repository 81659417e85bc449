import type { Figure } from '../measure.ts';
import { type Spread, toQuantile } from '../spread.ts';
import type { Report } from './report.ts';

/** How the rule is told to people. */
export const RULE =
  'A ratio has moved if the medians are further apart than their margins together (2.5 × interquartile range ÷ √rounds): ' +
  'by chance that happens to one in thirty with 5 rounds, to one in three hundred with 11.';

/** A margin of a median is so many interquartile ranges, divided by the root of the rounds. */
const MARGIN = 2.5;

/** Rounds without which nothing is known of the noise. */
const FEWEST_ROUNDS = 3;

/** Less than this share is of no interest, even where there is no noise. */
const LEAST_CHANGE = 0.01;

/** A ratio in two runs. */
export interface Pair {
  /** The comparison and its figure. */
  readonly name: string;
  readonly before: Spread;
  readonly after: Spread;
}

/** The ratios of two runs, each in one of these. */
export interface Movements {
  readonly moved: readonly Pair[];
  readonly still: readonly Pair[];
  /** Of too few rounds to know. */
  readonly unknown: readonly Pair[];
  /** Names of those, and of whole cases, that only the later run has. */
  readonly added: readonly string[];
  /** Names of those, and of whole cases, that only the earlier run has. */
  readonly removed: readonly string[];
}

type NamedRatio = readonly [name: string, ratio: Spread];

/** Finds the ratios that differ between two runs by more than the noise that was measured in them. */
export function findMovements(before: Report, after: Report): Movements {
  const [earlier, later] = [toRatios(before.cases), toRatios(after.cases)];
  const pairs = [...later].flatMap(([name, ratio]): readonly Pair[] => {
    const previous = earlier.get(name);
    return previous === undefined ? [] : [{ name, before: previous, after: ratio }];
  });
  const groups = Object.groupBy(pairs, toGroup);
  return {
    moved: groups.moved ?? [],
    still: groups.still ?? [],
    unknown: groups.unknown ?? [],
    added: toNamesOnlyIn(after, before),
    removed: toNamesOnlyIn(before, after),
  };
}

/** How far the median of a ratio may be off. */
export function toMargin({ values }: Spread): number {
  return (MARGIN * (toQuantile(values, 0.75) - toQuantile(values, 0.25))) / Math.sqrt(values.length);
}

function toGroup({ before, after }: Pair): 'moved' | 'still' | 'unknown' {
  if (Math.min(before.values.length, after.values.length) < FEWEST_ROUNDS) return 'unknown';
  const distance = Math.abs(after.median - before.median);
  const isMore = distance > toMargin(before) + toMargin(after) && distance >= LEAST_CHANGE * Math.abs(before.median);
  return isMore ? 'moved' : 'still';
}

function toNamesOnlyIn({ cases }: Report, other: Report): readonly string[] {
  return cases.flatMap((one) => {
    const others = other.cases.filter(({ name }) => name === one.name);
    if (others.length === 0) return [`the case ${one.name}`];
    const known = toRatios(others);
    return [...toRatios([one]).keys()].filter((name) => !known.has(name));
  });
}

function toRatios(cases: Report['cases']): ReadonlyMap<string, Spread> {
  const comparisons = cases.flatMap((one) => one.comparisons);
  return new Map(comparisons.flatMap(({ name, figures }) => figures.flatMap((figure) => toNamedRatios(name, figure))));
}

/** What is nothing at all in a floor has no ratio: there the service is compared with itself. */
function toNamedRatios(comparison: string, { name, ratio, honest, service }: Figure): readonly NamedRatio[] {
  const label = `${comparison}: ${name}`;
  const bare: NamedRatio = ratio === undefined ? [`${label}, service`, service] : [label, ratio];
  return honest?.ratio === undefined ? [bare] : [bare, [`${label}, service ÷ honest floor`, honest.ratio]];
}
