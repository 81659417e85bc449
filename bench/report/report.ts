import { readFile, writeFile } from 'node:fs/promises';

import type { Goal } from '../harness/case.ts';
import type { Figure, Spread } from '../harness/measure.ts';
import type { Sizes } from '../options.ts';

/** The machine and date of a run. */
export interface Machine {
  readonly cpu: string;
  /** Available to the benchmark. */
  readonly cores: number;
  readonly system: string;
  readonly node: string;
  /** ISO 8601, UTC. */
  readonly date: string;
}

/** The figures and goals of one comparison. */
export interface Comparison {
  readonly name: string;
  readonly figures: readonly Figure[];
  readonly goals?: readonly Goal[];
}

/** The results of a run, as written by `--json`. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly {
    readonly name: string;
    readonly comparisons: readonly Comparison[];
    /** Of a case that ran later than the others. */
    readonly machine?: Machine;
  }[];
}

/** An invalid report file. Its message is one line. */
export class ReportError extends Error {}

/** Significant digits in the JSON, more than any measurement has. */
const DIGITS = 6;

/** Reads a report written by `writeReport`. Throws a ReportError. */
export async function readReport(file: string): Promise<Report> {
  try {
    const report = JSON.parse(await readFile(file, 'utf8')) as Partial<Report> | null;
    if (Array.isArray(report?.cases)) return report as Report;
  } catch (error) {
    throw new ReportError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ReportError(`${file}: not a report written with --json`);
}

/** Writes a report as JSON. */
export async function writeReport(file: string, report: Report): Promise<void> {
  const round = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;
  await writeFile(file, `${JSON.stringify(report, round)}\n`);
}

/** A goal with its measured value. */
interface Verdict {
  readonly goal: Goal;
  readonly spread: Spread;
  /** `≤ 1.30` */
  readonly text: string;
  readonly isMet: boolean;
}

/** Compares medians with goals. There is no ratio to judge where a floor was zero. Throws an Error if a figure is missing. */
function judge({ name, figures, goals = [] }: Comparison): readonly Verdict[] {
  return goals.flatMap((goal) => {
    const { atMost = Infinity, atLeast = -Infinity } = goal;
    const figure = figures.find((one) => one.name === goal.figure);
    const divided = { ratio: figure, 'honest ratio': figure?.honest }[goal.of as string];
    if (divided !== undefined && divided.ratio === undefined) return [];
    const spread = figure && toSpreadOf(goal, figure);
    if (spread === undefined) throw new Error(`${name}: no value for '${goal.figure}', ${goal.of}`);
    const text = goal.atMost === undefined ? `≥ ${toNumberText(atLeast)}` : `≤ ${toNumberText(atMost)}`;
    return [{ goal, spread, text, isMet: spread.median <= atMost && spread.median >= atLeast }];
  });
}

function toSpreadOf({ of }: Goal, { honest, direct, ...figure }: Figure): Spread | undefined {
  if (of === 'honest ratio') return honest?.ratio;
  return of === 'added' ? direct?.serviceAdds : figure[of];
}

/** The median with the range. */
function toSpreadText({ median, min, max }: Spread): string {
  return `${toNumberText(median)} (${toNumberText(min)}–${toNumberText(max)})`;
}

/** Formats with three significant digits, or all integer digits. */
export function toNumberText(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** The number of rounds, as a range if cases differ. */
export function countRounds({ cases }: Report): string {
  const figures = cases.flatMap(({ comparisons }) => comparisons.flatMap((one) => one.figures));
  const counts = figures.map(({ service }) => service.values.length);
  return [...new Set([Math.min(...counts), Math.max(...counts)])].join('–');
}

/** Head of each column, and whether it is there when nothing stands in it. */
const COLUMNS: readonly (readonly [head: string, isAlways: boolean])[] = [
  ['', true],
  ['service ÷ floor', true],
  ['goal', true],
  ['service ÷ honest floor', false],
  ['goal', false],
  ['service', true],
  ['floor', true],
  ['honest floor', false],
  ['direct', false],
];

/** The cells of a row, by column. */
export type Row = readonly string[];

/** What numbers are called that are no ratios: each that has a goal has a row of its own. */
const NUMBERS: readonly (readonly [of: Goal['of'], words: string])[] = [
  ['service', 'service'],
  ['difference', 'service − floor'],
  ['added', 'service − direct'],
];

/** Rows with the heads of their columns, without those in which nothing stands. */
export function toColumns(rows: readonly Row[]): readonly Row[] {
  const isUsed = COLUMNS.map(([, isAlways], column) => isAlways || rows.some((row) => row[column] !== ''));
  return [COLUMNS.map(([head]) => head), ...rows].map((row) => row.filter((_, column) => isUsed[column]));
}

/** The rows of what has goals, and of the figures that are shown without. `toText` writes the values of service and floors. */
export function toRows(
  comparison: Comparison,
  isShown: (figure: string) => boolean,
  toText: (spread: Spread) => string,
): readonly Row[] {
  const verdicts = judge(comparison);
  return comparison.figures.flatMap((figure) => {
    const { name, ratio, honest, service, floor, direct } = figure;
    const label = `${comparison.name}: ${name}`;
    const sides = [service, floor, honest, direct].map((side) => (side ? toText(side) : ''));
    const verdictOf = (of: Goal['of']): Verdict | undefined =>
      verdicts.find(({ goal }) => goal.figure === name && goal.of === of);
    const rows = NUMBERS.flatMap(([of, words]) => {
      const verdict = verdictOf(of);
      if (verdict === undefined) return [];
      return [[`${label}, ${words}`, toSpreadText(verdict.spread), toGoalText(verdict), '', '', ...sides]];
    });
    const [bare, whole] = [verdictOf('ratio'), verdictOf('honest ratio')];
    if (bare === undefined && whole === undefined && !isShown(name)) return rows;
    const ratios = [toRatioText({ ratio }), toGoalText(bare), toRatioText(honest), toGoalText(whole)];
    return [...rows, [label, ...ratios, ...sides]];
  });
}

function toRatioText(side: Pick<Figure, 'ratio'> | undefined): string {
  return side?.ratio === undefined ? '' : toSpreadText(side.ratio);
}

function toGoalText(verdict: Verdict | undefined): string {
  return verdict === undefined ? '' : `${verdict.text}, ${verdict.isMet ? 'met' : 'missed'}`;
}

/** The report as one table of all figures, ratios first. */
export function toTable(report: Report): string {
  const { machine, sizes, cases } = report;
  const comparisons = cases.flatMap((one) => one.comparisons);
  const cells = toColumns(comparisons.flatMap((one) => toRows(one, () => true, toSpreadText)));
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  const toLine = (row: Row): string => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, ${machine.date}`,
    `${sizes.streams} streams, ${sizes.deltas} deltas; median of ${countRounds(report)} rounds (min–max)`,
    '',
    ...cells.map((row) => toLine(row).trimEnd()),
    '',
  ].join('\n');
}
