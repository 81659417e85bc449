import type { Figure } from '../measure.ts';
import { type Spread, toQuantile } from '../spread.ts';
import type { Report } from './report.ts';

/** The rule, for the report. */
export const RULE =
  'A ratio has moved if the medians are further apart than their margins together (2.5 × interquartile range ÷ √rounds): ' +
  'by chance that happens to one in thirty with 5 rounds, to one in three hundred with 11.';

/** The margin of a median is this many interquartile ranges, divided by the square root of the rounds. */
const MARGIN = 2.5;

/** Minimum rounds for estimating noise. */
const FEWEST_ROUNDS = 3;

/** Relative changes below this are ignored, even without noise. */
const LEAST_CHANGE = 0.01;

/** A ratio in two runs. */
export interface Pair {
  /** Names of the comparison and the figure. */
  readonly name: string;
  readonly before: Spread;
  readonly after: Spread;
}

/** The ratios of two runs, in disjoint groups. */
export interface Movements {
  readonly moved: readonly Pair[];
  readonly still: readonly Pair[];
  /** Ratios with too few rounds. */
  readonly unknown: readonly Pair[];
  /** Names of ratios and cases that only the later run has. */
  readonly added: readonly string[];
  /** Names of ratios and cases that only the earlier run has. */
  readonly removed: readonly string[];
}

type NamedRatio = readonly [name: string, ratio: Spread];

/** Finds the ratios that differ between two runs by more than the measured noise. */
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

/** The margin of error of a ratio's median. */
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

/** The ratios of a figure. Without a ratio, because the floor is zero, the value of the service is compared. */
function toNamedRatios(comparison: string, { name, ratio, honest, service }: Figure): readonly NamedRatio[] {
  const label = `${comparison}: ${name}`;
  const bare: NamedRatio = ratio === undefined ? [`${label}, service`, service] : [label, ratio];
  return honest?.ratio === undefined ? [bare] : [bare, [`${label}, service ÷ honest floor`, honest.ratio]];
}
