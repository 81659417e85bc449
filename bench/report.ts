import type { Comparison, Sizes } from './cases/benchmark-case.ts';
import type { Machine } from './machine.ts';
import type { Spread } from './measure.ts';

/** All that a run gave; what `--json` writes. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly { readonly name: string; readonly comparisons: readonly Comparison[] }[];
}

const HEAD = ['', '', 'ratio', 'service', 'floor'];

/** The report as one table, ratios first. */
export function toTable({ machine, sizes, cases }: Report): string {
  const { streams, deltas, rounds } = sizes;
  const rows = cases.flatMap(({ comparisons }) => comparisons.flatMap(toRows));
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0)));
  const lines = [HEAD, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, ${machine.date}`,
    `${streams} streams, ${deltas} deltas; ratio = service / floor; median of ${rounds} rounds (min–max)`,
    '',
    ...lines.map((line) => line.trimEnd()),
    '',
  ].join('\n');
}

function toRows({ name, figures }: Comparison): readonly string[][] {
  return figures.map((figure, index) => [
    index === 0 ? name : '',
    figure.name,
    toCell(figure.ratio),
    toCell(figure.service),
    toCell(figure.floor),
  ]);
}

function toCell({ median, min, max }: Spread): string {
  return `${toText(median)} (${toText(min)}–${toText(max)})`;
}

/** Three digits that mean something, or all before the point. */
function toText(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
