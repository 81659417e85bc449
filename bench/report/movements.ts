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

/** Reports how a run differs from an earlier one. */
export function toMovementText(before: Report, after: Report): string {
  const earlier = toRatios(before.cases);
  const lines: Record<'moved' | 'still' | 'unknown', string[]> = { moved: [], still: [], unknown: [] };
  for (const [name, ratio] of toRatios(after.cases)) {
    const previous = earlier.get(name);
    if (previous !== undefined) lines[toGroup(previous, ratio)].push(toLine(name, previous, ratio));
  }
  const { moved, still, unknown } = lines;
  return [
    `Compared with the run of ${before.machine.date}:`,
    ...toWarnings(before, after),
    '',
    ...moved,
    `${moved.length} of ${moved.length + still.length} ratios moved. ${RULE}`,
    ...(unknown.length > 0 ? [`${unknown.length} ratios have too few rounds to compare.`] : []),
    ...toList('New', toNamesOnlyIn(after, before)),
    ...toList('Gone', toNamesOnlyIn(before, after)),
    '',
  ].join('\n');
}

/** Differences of machine and sizes, which could explain movements. Sizes that a run lacks belong to cases that it lacks. */
function toWarnings(before: Report, after: Report): readonly string[] {
  type Values = Readonly<Record<string, string | number | undefined>>;
  const warn = (what: string, one: Values, other: Values): readonly string[] =>
    Object.keys(other)
      .filter((name) => name !== 'date' && one[name] !== undefined && one[name] !== other[name])
      .map((name) => `! another ${what}: ${name} was ${one[name]}, is ${other[name]}`);
  return [...warn('machine', { ...before.machine }, { ...after.machine }), ...warn('size', before.sizes, after.sizes)];
}

function toLine(name: string, before: Spread, after: Spread): string {
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

function toGroup(before: Spread, after: Spread): 'moved' | 'still' | 'unknown' {
  if (Math.min(before.values.length, after.values.length) < FEWEST_ROUNDS) return 'unknown';
  const distance = Math.abs(after.median - before.median);
  const isMore = distance > toMargin(before) + toMargin(after) && distance >= LEAST_CHANGE * Math.abs(before.median);
  return isMore ? 'moved' : 'still';
}

/** Ratios and cases that another run does not have. */
function toNamesOnlyIn({ cases }: Report, other: Report): readonly string[] {
  const known = toRatios(other.cases);
  return cases.flatMap((one) => {
    if (other.cases.every(({ name }) => name !== one.name)) return [`the case ${one.name}`];
    return [...toRatios([one]).keys()].filter((name) => !known.has(name));
  });
}

function toRatios(cases: Report['cases']): ReadonlyMap<string, Spread> {
  const comparisons = cases.flatMap((one) => one.comparisons);
  return new Map(comparisons.flatMap(({ name, figures }) => figures.flatMap((figure) => toNamedRatios(name, figure))));
}

/** The ratios of a figure. Without a ratio, because the floor is zero, the value of the service is compared. */
function toNamedRatios(comparison: string, { name, ratio, honest, service }: Figure): readonly [string, Spread][] {
  const label = `${comparison}: ${name}`;
  const bare: [string, Spread] = ratio === undefined ? [`${label}, service`, service] : [label, ratio];
  return honest?.ratio === undefined ? [bare] : [bare, [`${label}, service ÷ honest floor`, honest.ratio]];
}
