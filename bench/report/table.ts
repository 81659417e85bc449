import type { Comparison, Goal } from '../cases/benchmark-case.ts';
import type { Figure } from '../measure.ts';
import { judge, type Verdict } from './judge.ts';
import type { Report } from './report.ts';
import { countRounds, toSpreadText } from './text.ts';

/** The columns in order; empty ones are omitted. */
const HEADS = {
  comparison: '',
  figure: '',
  ratio: 'ratio',
  goal: 'goal',
  honestRatio: '÷ honest',
  honestGoal: 'goal',
  service: 'service',
  floor: 'floor',
  honest: 'honest floor',
  direct: 'direct',
  precomputed: 'precomputed',
};

/** A row of the table. */
type Row = Partial<Record<keyof typeof HEADS, string>>;

/** The report as one table, ratios first. */
export function toTable({ machine, sizes, cases }: Report): string {
  const { streams, deltas } = sizes;
  const comparisons = cases.flatMap((one) => one.comparisons);
  const rounds = countRounds(comparisons.flatMap((one) => one.figures));
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, ${machine.date}`,
    `${streams} streams, ${deltas} deltas; ratio = service / floor, ÷ honest = service / honest floor; median of ${rounds} rounds (min–max)`,
    '',
    ...align(comparisons.flatMap(toRows)),
    '',
  ].join('\n');
}

function align(rows: readonly Row[]): readonly string[] {
  const columns = (Object.keys(HEADS) as (keyof Row)[]).filter((column) => rows.some((row) => row[column]));
  const cells = [HEADS, ...rows].map((row: Row) => columns.map((column) => row[column] ?? ''));
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function toRows(comparison: Comparison): readonly Row[] {
  const verdicts = judge(comparison);
  const rows = comparison.figures.flatMap((figure) => toFigureRows(figure, verdicts));
  return rows.map((row, index) => (index === 0 ? { ...row, comparison: comparison.name } : row));
}

function toFigureRows(
  { name, ratio, difference, service, floor, honest, direct, precomputed }: Figure,
  verdicts: readonly Verdict[],
): readonly Row[] {
  const own = verdicts.filter(({ goal }) => goal.figure === name);
  const goalOf = (of: Goal['of']): string =>
    own
      .filter(({ goal }) => goal.of === of)
      .map(toGoal)
      .join(', ');
  const rows: Row[] = [
    {
      figure: name,
      ratio: ratio && toSpreadText(ratio),
      goal: goalOf('ratio'),
      honestRatio: honest?.ratio && toSpreadText(honest.ratio),
      honestGoal: goalOf('honest ratio'),
      service: toSpreadText(service),
      floor: toSpreadText(floor),
      honest: honest && toSpreadText(honest),
      direct: direct && toSpreadText(direct),
      precomputed: precomputed && toSpreadText(precomputed),
    },
  ];
  if (goalOf('service') !== '')
    rows.push({ figure: '  service', goal: goalOf('service'), service: toSpreadText(service) });
  if (goalOf('difference') !== '')
    rows.push({ figure: '  service − floor', goal: goalOf('difference'), service: toSpreadText(difference) });
  if (direct === undefined) return rows;
  // Without a ratio, because both differences may be close to zero.
  const [serviceAdds, floorAdds] = [toSpreadText(direct.serviceAdds), toSpreadText(direct.floorAdds)];
  rows.push({ figure: '  added to direct', goal: goalOf('added'), service: serviceAdds, floor: floorAdds });
  return rows;
}

function toGoal({ text, isMet }: Verdict): string {
  return `${text} ${isMet ? 'yes' : 'no'}`;
}
