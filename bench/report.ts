import type { Comparison, Sizes } from './cases/benchmark-case.ts';
import type { Machine } from './machine.ts';
import type { Figure, Spread } from './measure.ts';

/** All that a run gave; what `--json` writes. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly { readonly name: string; readonly comparisons: readonly Comparison[] }[];
}

const HEAD = ['', '', 'ratio', 'service', 'floor'];

/** Headed so where something was measured without service and floor in between, too. */
const DIRECT = 'direct';

/** The report as one table, ratios first. */
export function toTable({ machine, sizes, cases }: Report): string {
  const { streams, deltas } = sizes;
  const comparisons = cases.flatMap((one) => one.comparisons);
  const figures = comparisons.flatMap((one) => one.figures);
  const head = figures.some(({ direct }) => direct !== undefined) ? [...HEAD, DIRECT] : HEAD;
  const rows = [head, ...comparisons.flatMap(toRows)];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, ${machine.date}`,
    `${streams} streams, ${deltas} deltas; ratio = service / floor; median of ${countRounds(figures)} rounds (min–max)`,
    '',
    ...lines.map((line) => line.trimEnd()),
    '',
  ].join('\n');
}

/** How many rounds there were; cases may differ. */
function countRounds(figures: readonly Figure[]): string {
  const counts = figures.map(({ ratio }) => ratio.values.length);
  return [...new Set([Math.min(...counts), Math.max(...counts)])].join('–');
}

function toRows({ name, figures }: Comparison): readonly (readonly string[])[] {
  const rows = figures.flatMap((figure) => {
    const { ratio, service, floor, direct } = figure;
    const row = ['', figure.name, ...[ratio, service, floor].map(toCell)];
    if (direct === undefined) return [row];
    // A ratio of two differences, each of which may be about nothing, would say nothing.
    return [
      [...row, toCell(direct)],
      ['', '  added to direct', '', toCell(direct.serviceAdds), toCell(direct.floorAdds)],
    ];
  });
  return rows.map((row, index) => (index === 0 ? [name, ...row.slice(1)] : row));
}

function toCell({ median, min, max }: Spread): string {
  return `${toText(median)} (${toText(min)}–${toText(max)})`;
}

/** Three digits that mean something, or all before the point. */
function toText(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
