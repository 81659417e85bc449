import type { Comparison, Goal } from '../cases/benchmark-case.ts';
import type { Figure } from '../measure.ts';
import { judge } from './judge.ts';
import type { Report } from './report.ts';
import { type Section, type SectionCase, SECTIONS } from './sections.ts';
import { countRounds, toNumberText, toSpreadText } from './text.ts';

/** What a number is called that is not the ratio. */
const NUMBERS: Readonly<Record<Goal['of'], string>> = {
  ratio: '',
  difference: ', service − floor',
  added: ', service − direct',
};

/** The report as the README shows it: a table per section, ratios first. Throws an Error for a case of no section. */
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
  const columns = ['', 'service ÷ floor', 'goal', 'service', 'floor', 'direct', 'precomputed'];
  const used = columns.map((_, column) => column < 5 || rows.some((row) => row[column] !== ''));
  const toLine = (cells: readonly string[]): string => `| ${cells.filter((_, column) => used[column]).join(' | ')} |`;
  const table = [toLine(columns), toLine(columns.map(() => '---')), ...rows.map(toLine)];
  return [`**${title}.** ${words}`, table.join('\n')];
}

function toRows(comparison: Comparison, { figures: shown = [] }: SectionCase): readonly (readonly string[])[] {
  const verdicts = judge(comparison);
  return comparison.figures.flatMap((figure) => {
    const own = verdicts.filter(({ goal }) => goal.figure === figure.name);
    const rows = own.map(({ goal, spread, text, isMet }) => {
      const label = `${comparison.name}: ${figure.name}${NUMBERS[goal.of]}`;
      return [label, toSpreadText(spread), `${text}, ${isMet ? 'met' : 'missed'}`, ...toMedians(figure)];
    });
    if (!shown.includes(figure.name) || own.some(({ goal }) => goal.of === 'ratio')) return rows;
    return [...rows, [`${comparison.name}: ${figure.name}`, toSpreadText(figure.ratio), '', ...toMedians(figure)]];
  });
}

function toMedians({ service, floor, direct, precomputed }: Figure): readonly string[] {
  return [service, floor, direct, precomputed].map((side) => (side === undefined ? '' : toNumberText(side.median)));
}
