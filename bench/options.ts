import { parseArgs } from 'node:util';

import { SIZE_NAMES, type Sizes, toSizes } from './sizes.ts';

/** Options of the command line. Files are paths. */
export interface Options {
  /** Names; undefined for all cases. */
  readonly cases: readonly string[] | undefined;
  readonly sizes: Sizes;
  /** Whether the run only proves that the cases work. */
  readonly isProof: boolean;
  /** File for the report as JSON. */
  readonly json: string | undefined;
  /** JSON report of an earlier run, in which the cases that run replace those of the same name. */
  readonly into: string | undefined;
  /** JSON report of an earlier run, for comparison. */
  readonly compare: string | undefined;
  /** JSON report to show instead of running. */
  readonly report: string | undefined;
}

/** An invalid command line. Its message is one line. */
export class OptionError extends Error {}

/** Parses the command line. Throws an OptionError. */
export function readOptions(args: readonly string[], known: readonly string[]): Options {
  const values = parse(args);
  const { case: cases, json, into, compare, report, quick = false, smallest = false } = values;
  if (quick && smallest) throw new OptionError('--smallest: cannot be combined with --quick');
  if (report !== undefined && Object.keys(values).some((name) => !['report', 'compare'].includes(name)))
    throw new OptionError('--report: cannot be combined with options other than --compare');
  if (json !== undefined && into !== undefined) throw new OptionError('--into: cannot be combined with --json');
  const unknown = cases?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new OptionError(`--case: unknown case '${unknown}', expected one of ${known.join(', ')}`);
  const base = toSizes(smallest ? 'smallest' : quick ? 'quick' : 'full');
  const texts: Readonly<Record<string, unknown>> = values;
  const sizes = SIZE_NAMES.map((size) => [size, readCount(toOption(size), texts[toOption(size)]) ?? base[size]]);
  return { cases, sizes: Object.fromEntries(sizes) as Sizes, isProof: smallest, json, into, compare, report };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const sizes: Record<string, typeof text> = Object.fromEntries(SIZE_NAMES.map((size) => [toOption(size), text]));
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...sizes,
        ...{
          case: { ...text, multiple: true },
          json: text,
          into: text,
          compare: text,
          report: text,
          quick: flag,
          smallest: flag,
        },
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

function readCount(name: string, text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new OptionError(`--${name}: expected a whole number above 0, but got '${text}'`);
  return Number(text);
}
