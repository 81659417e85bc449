import { readFile, writeFile } from 'node:fs/promises';

import type { Comparison, Sizes } from '../cases/benchmark-case.ts';
import type { Machine } from '../machine.ts';

/** The results of a run, as written by `--json`. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly { readonly name: string; readonly comparisons: readonly Comparison[] }[];
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
