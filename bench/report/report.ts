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
export interface Verdict {
  readonly goal: Goal;
  readonly spread: Spread;
  /** `≤ 1.30` */
  readonly text: string;
  readonly isMet: boolean;
}

/** Compares medians with goals. Throws an Error if a figure is missing. */
export function judge({ name, figures, goals = [] }: Comparison): readonly Verdict[] {
  return goals.map((goal) => {
    const { atMost = Infinity, atLeast = -Infinity } = goal;
    const figure = figures.find((one) => one.name === goal.figure);
    const spread = figure && toSpreadOf(goal, figure);
    if (spread === undefined) throw new Error(`${name}: no value for '${goal.figure}', ${goal.of}`);
    const text = goal.atMost === undefined ? `≥ ${toNumberText(atLeast)}` : `≤ ${toNumberText(atMost)}`;
    return { goal, spread, text, isMet: spread.median <= atMost && spread.median >= atLeast };
  });
}

function toSpreadOf({ of }: Goal, { honest, direct, ...figure }: Figure): Spread | undefined {
  if (of === 'honest ratio') return honest?.ratio;
  return of === 'added' ? direct?.serviceAdds : figure[of];
}

/** The median with the range. */
export function toSpreadText({ median, min, max }: Spread): string {
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
