import { parseArgs } from 'node:util';

import type { BenchmarkCase, Sizes } from './cases/benchmark-case.ts';
import { FULL, QUICK, SMALLEST } from './sizes.ts';

/** Options of the command line. Files are paths. */
export interface Options {
  readonly cases: readonly BenchmarkCase[];
  readonly sizes: Sizes;
  /** File for the report as JSON. */
  readonly json: string | undefined;
  /** JSON report of an earlier run, for comparison. */
  readonly compare: string | undefined;
  /** JSON report to show instead of running. */
  readonly report: string | undefined;
}

/** An invalid command line. Its message is one line. */
export class OptionError extends Error {}

/** Each size has an option. */
const SIZES = Object.keys(FULL) as readonly (keyof Sizes)[];

/** Parses the command line. Throws an OptionError. */
export function readOptions(args: readonly string[], cases: readonly BenchmarkCase[]): Options {
  const values = parse(args);
  const { case: names, json, compare, report, quick = false, smallest = false } = values;
  if (quick && smallest) throw new OptionError('--smallest: cannot be combined with --quick');
  if (report !== undefined && Object.keys(values).some((name) => !['report', 'compare'].includes(name)))
    throw new OptionError('--report: cannot be combined with options other than --compare');
  const texts: Readonly<Record<string, unknown>> = values;
  const base = smallest ? SMALLEST : quick ? QUICK : FULL;
  const sizes = SIZES.map((size) => [size, readCount(toOption(size), texts[toOption(size)], base[size])]);
  return {
    cases: names?.map((name) => findCase(name, cases)) ?? cases,
    sizes: Object.fromEntries(sizes) as Sizes,
    json,
    compare,
    report,
  };
}

function parse(args: readonly string[]) {
  const sizes: Record<string, { readonly type: 'string' }> = {};
  for (const size of SIZES) sizes[toOption(size)] = { type: 'string' };
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...sizes,
        case: { type: 'string', multiple: true },
        quick: { type: 'boolean' },
        smallest: { type: 'boolean' },
        json: { type: 'string' },
        compare: { type: 'string' },
        report: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message.split('\n')[0] : String(error));
  }
}

/** `most-streams` for `mostStreams`. */
function toOption(size: keyof Sizes): string {
  return size.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function findCase(name: string, cases: readonly BenchmarkCase[]): BenchmarkCase {
  const found = cases.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new OptionError(`--case: unknown case '${name}', expected one of ${cases.map((one) => one.name).join(', ')}`);
}

function readCount(name: string, text: unknown, otherwise: number): number {
  if (typeof text !== 'string') return otherwise;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new OptionError(`--${name}: expected a whole number above 0, but got '${text}'`);
  return Number(text);
}
