import { readFile, writeFile } from 'node:fs/promises';

import type { Comparison, Sizes } from '../cases/benchmark-case.ts';
import type { Machine } from '../machine.ts';

/** All that a run gave; what `--json` writes. */
export interface Report {
  readonly machine: Machine;
  readonly sizes: Sizes;
  readonly cases: readonly { readonly name: string; readonly comparisons: readonly Comparison[] }[];
}

/** A file that holds no report. Its message is one line. */
export class ReportError extends Error {}

/** More digits than any measurement has. */
const DIGITS = 6;

/** Reads what `writeReport` has written. Throws a ReportError. */
export async function readReport(file: string): Promise<Report> {
  try {
    const report = JSON.parse(await readFile(file, 'utf8')) as Partial<Report> | null;
    if (Array.isArray(report?.cases)) return report as Report;
  } catch (error) {
    throw new ReportError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ReportError(`${file}: this is not what the benchmark writes with --json`);
}

/** Writes a report as JSON. */
export async function writeReport(file: string, report: Report): Promise<void> {
  const round = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;
  await writeFile(file, `${JSON.stringify(report, round)}\n`);
}
