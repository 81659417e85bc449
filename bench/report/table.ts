import type { Goal } from '../harness/case.ts';
import type { Figure, Spread } from '../harness/measure.ts';
import { type Comparison, countRounds, judge, type Report, toSpreadText, type Verdict } from './report.ts';

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
