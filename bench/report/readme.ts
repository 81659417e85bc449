import type { Comparison, Goal } from '../cases/benchmark-case.ts';
import type { Figure } from '../measure.ts';
import type { Spread } from '../spread.ts';
import { judge, type Verdict } from './judge.ts';
import type { Report } from './report.ts';
import { type Section, type SectionCase, SECTIONS } from './sections.ts';
import { countRounds, toNumberText, toSpreadText } from './text.ts';

/** Labels of values other than ratios; each has its own row. */
const NUMBERS: readonly (readonly [of: Goal['of'], words: string])[] = [
  ['service', 'service'],
  ['difference', 'service − floor'],
  ['added', 'service − direct'],
];

/** Heading of each column, and whether to show it if empty. */
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
  ['precomputed', false],
];

/** The report for the README: a table per section, ratios first. Throws an Error for a case without a section. */
export function toReadme({ machine, cases }: Report): string {
  const names = SECTIONS.flatMap((section) => section.cases.map((one) => one.name));
  const stray = cases.find(({ name }) => !names.includes(name));
  if (stray !== undefined) throw new Error(`bench/report/sections.ts: no section has the case '${stray.name}'`);
  const rounds = countRounds(cases.flatMap((one) => one.comparisons.flatMap(({ figures }) => figures)));
  return [
    `Measured on ${machine.cpu}, ${machine.cores} cores for server, floor and load together, ${machine.system}, ` +
      `Node ${machine.node}, ${machine.date.slice(0, 10)}. Medians of ${rounds} rounds, ratios with their range.`,
    ...SECTIONS.flatMap((section) => toSection(section, cases)),
  ].join('\n\n');
}

function toSection({ title, words, cases }: Section, measured: Report['cases']): readonly string[] {
  const rows = cases.flatMap((one) => {
    const comparisons = measured.find(({ name }) => name === one.name)?.comparisons ?? [];
    return comparisons.flatMap((comparison) => toRows(comparison, one));
  });
  if (rows.length === 0) return [];
  const used = COLUMNS.map(([, isAlways], column) => isAlways || rows.some((row) => row[column] !== ''));
  const toLine = (cells: readonly string[]): string => `| ${cells.filter((_, column) => used[column]).join(' | ')} |`;
  const table = [toLine(COLUMNS.map(([head]) => head)), toLine(COLUMNS.map(() => '---')), ...rows.map(toLine)];
  return [`**${title}.** ${words}`, table.join('\n')];
}

function toRows(comparison: Comparison, { figures: shown = [] }: SectionCase): readonly (readonly string[])[] {
  const verdicts = judge(comparison);
  return comparison.figures.flatMap((figure) => {
    const label = `${comparison.name}: ${figure.name}`;
    const { ratio, honest } = figure;
    const medians = toMedians(figure);
    const verdictOf = (of: Goal['of']): Verdict | undefined =>
      verdicts.find(({ goal }) => goal.figure === figure.name && goal.of === of);
    const rows = NUMBERS.flatMap(([of, words]) => {
      const verdict = verdictOf(of);
      if (verdict === undefined) return [];
      return [[`${label}, ${words}`, toSpreadText(verdict.spread), toGoalText(verdict), '', '', ...medians]];
    });
    const [bare, whole] = [verdictOf('ratio'), verdictOf('honest ratio')];
    if (bare === undefined && whole === undefined && !shown.includes(figure.name)) return rows;
    const ratios = [toRatioText(ratio), toGoalText(bare), toRatioText(honest?.ratio), toGoalText(whole)];
    return [...rows, [label, ...ratios, ...medians]];
  });
}

function toRatioText(ratio: Spread | undefined): string {
  return ratio === undefined ? '' : toSpreadText(ratio);
}

function toGoalText(verdict: Verdict | undefined): string {
  return verdict === undefined ? '' : `${verdict.text}, ${verdict.isMet ? 'met' : 'missed'}`;
}

function toMedians({ service, floor, honest, direct, precomputed }: Figure): readonly string[] {
  return [service, floor, honest, direct, precomputed].map((side) =>
    side === undefined ? '' : toNumberText(side.median),
  );
}
