import { type Figure, type Spread, toQuantile } from '../harness/measure.ts';
import { type Report, toNumberText } from './report.ts';

/** The rule, for the report. */
const RULE =
  'A ratio has moved if the medians are further apart than their margins together (2.5 × interquartile range ÷ √rounds): ' +
  'by chance that happens to one in thirty with 5 rounds, to one in three hundred with 11.';

/** The margin of a median is this many interquartile ranges, divided by the square root of the rounds. */
const MARGIN = 2.5;

/** Minimum rounds for estimating noise. */
const FEWEST_ROUNDS = 3;

/** Relative changes below this are ignored, even without noise. */
const LEAST_CHANGE = 0.01;

/** A ratio in two runs. */
interface Pair {
  /** Names of the comparison and the figure. */
  readonly name: string;
  readonly before: Spread;
  readonly after: Spread;
}

type NamedRatio = readonly [name: string, ratio: Spread];

/** Reports how a run differs from an earlier one. */
export function toMovementText(before: Report, after: Report): string {
  const earlier = toRatios(before.cases);
  const pairs = [...toRatios(after.cases)].flatMap(([name, ratio]): readonly Pair[] => {
    const previous = earlier.get(name);
    return previous === undefined ? [] : [{ name, before: previous, after: ratio }];
  });
  const { moved = [], still = [], unknown = [] } = Object.groupBy(pairs, toGroup);
  return [
    `Compared with the run of ${before.machine.date}:`,
    ...toWarnings(before, after).map((warning) => `! ${warning}`),
    '',
    ...moved.map(toLine),
    `${moved.length} of ${moved.length + still.length} ratios moved. ${RULE}`,
    ...(unknown.length > 0 ? [`${unknown.length} ratios have too few rounds to compare.`] : []),
    ...toList('New', toNamesOnlyIn(after, before)),
    ...toList('Gone', toNamesOnlyIn(before, after)),
    '',
  ].join('\n');
}

/** Differences of machine and sizes, which could explain movements. */
function toWarnings(before: Report, after: Report): readonly string[] {
  const sizes = Object.keys(after.sizes) as (keyof Report['sizes'])[];
  const sizesBefore: Partial<Report['sizes']> = before.sizes;
  const system = ['cpu', 'cores', 'system', 'node'] as const;
  // Sizes that the earlier run lacks belong to cases that it lacks.
  return [
    ...system.map((name) => ['machine', name, before.machine[name], after.machine[name]] as const),
    ...sizes.map((name) => ['size', name, sizesBefore[name], after.sizes[name]] as const),
  ]
    .filter(([, , earlier, later]) => earlier !== undefined && earlier !== later)
    .map(([what, name, earlier, later]) => `another ${what}: ${name} was ${String(earlier)}, is ${later}`);
}

function toLine({ name, before, after }: Pair): string {
  const percent = (after.median / before.median - 1) * 100;
  const change = `${percent > 0 ? '+' : '−'}${Math.abs(percent).toFixed(0)} %`;
  const values = [before, after].map((ratio) => `${toNumberText(ratio.median)} ± ${toNumberText(toMargin(ratio))}`);
  return `${name}: ${values.join(' → ')} (${change})`;
}

function toList(head: string, names: readonly string[]): readonly string[] {
  return names.length > 0 ? [`${head}:`, ...names.map((name) => `  ${name}`)] : [];
}

/** The margin of error of a ratio's median. */
function toMargin({ values }: Spread): number {
  return (MARGIN * (toQuantile(values, 0.75) - toQuantile(values, 0.25))) / Math.sqrt(values.length);
}

function toGroup({ before, after }: Pair): 'moved' | 'still' | 'unknown' {
  if (Math.min(before.values.length, after.values.length) < FEWEST_ROUNDS) return 'unknown';
  const distance = Math.abs(after.median - before.median);
  const isMore = distance > toMargin(before) + toMargin(after) && distance >= LEAST_CHANGE * Math.abs(before.median);
  return isMore ? 'moved' : 'still';
}

/** Ratios and cases that another run does not have. */
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
