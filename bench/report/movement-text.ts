import { findMovements, type Pair, RULE, toMargin } from './movements.ts';
import type { Report } from './report.ts';
import { toNumberText } from './text.ts';

/** Reports how a run differs from an earlier one. */
export function toMovementText(before: Report, after: Report): string {
  const { moved, still, unknown, added, removed } = findMovements(before, after);
  return [
    `Compared with the run of ${before.machine.date}:`,
    ...toWarnings(before, after).map((warning) => `! ${warning}`),
    '',
    ...moved.map(toLine),
    `${moved.length} of ${moved.length + still.length} ratios moved. ${RULE}`,
    ...(unknown.length > 0 ? [`${unknown.length} ratios have too few rounds to compare.`] : []),
    ...toList('New', added),
    ...toList('Gone', removed),
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
