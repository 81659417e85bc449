import { parseArgs } from 'node:util';

/** The sizes of a full run, of one with `--quick`, and of one with `--smallest`. Each has an option: `--paced-deltas 8`. */
const SIZES = {
  /** Concurrent streams. */
  streams: [100, 30, 2],
  /** Most concurrent streams, if a case tries several numbers. */
  mostStreams: [512, 128, 32],
  /** Text deltas per answer, if the case sets none. */
  deltas: [200, 50, 8],
  /** Text deltas per background answer at the pace of a model. */
  pacedDeltas: [64, 8, 2],
  /** Turns before memory is measured. */
  memoryTurns: [100_000, 5000, 32],
  /** Rest after them before memory is measured again, s. */
  restSeconds: [60, 5, 1],
  /** Turns in a chain. */
  chain: [500, 50, 6],
  /** Concurrent agents. */
  agents: [8, 4, 1],
  /** Responses that are saved per round by many connections at once. */
  saves: [2000, 100, 4],
  /** Requests per round whose latency is measured. */
  requests: [300, 30, 1],
  /** Requests per round that are not streamed. */
  jsonRequests: [5000, 200, 4],
  /** Turns per round one after the other, or in the background. */
  countedTurns: [500, 100, 4],
  idleSockets: [5000, 2000, 20],
  /** Rounds per side. */
  rounds: [11, 3, 1],
  /** Rounds per side, if one takes seconds or starts a program. */
  longRounds: [5, 1, 1],
  /** Rounds per side before those. */
  warmUps: [2, 1, 0],
  /** Turns per stream and round. */
  turnsPerStream: [5, 1, 1],
} as const;

/** The sizes of a run. */
export type Sizes = Readonly<Record<keyof typeof SIZES, number>>;

const SIZE_NAMES = Object.keys(SIZES) as readonly (keyof Sizes)[];

/** An invalid command line. Its message is one line. */
export class OptionError extends Error {}

/** Parses the command line. Files are paths; `isProof` says that the run only proves that the cases work. Throws an OptionError. */
export function readOptions(args: readonly string[], known: readonly string[]) {
  const values = parse(args);
  const { case: cases, json, into, compare, report, quick = false, smallest: isProof = false } = values;
  if (quick && isProof) throw new OptionError('--smallest: cannot be combined with --quick');
  if (report !== undefined && Object.keys(values).some((name) => !['report', 'compare'].includes(name)))
    throw new OptionError('--report: cannot be combined with options other than --compare');
  if (json !== undefined && into !== undefined) throw new OptionError('--into: cannot be combined with --json');
  const unknown = cases?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new OptionError(`--case: unknown case '${unknown}', expected one of ${known.join(', ')}`);
  const texts: Readonly<Record<string, unknown>> = values;
  const column = isProof ? 2 : quick ? 1 : 0;
  const sizes = SIZE_NAMES.map((size) => [size, readCount(size, texts[toOption(size)]) ?? SIZES[size][column]]);
  return { cases, sizes: Object.fromEntries(sizes) as Sizes, isProof, json, into, compare, report };
}

function parse(args: readonly string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
  const sizes: Record<string, typeof text> = Object.fromEntries(SIZE_NAMES.map((size) => [toOption(size), text]));
  const files = { json: text, into: text, compare: text, report: text };
  const options = { ...sizes, ...files, case: { ...text, multiple: true as const }, quick: flag, smallest: flag };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message.split('\n')[0] : String(error));
  }
}

/** `most-streams` for `mostStreams`. */
function toOption(size: keyof Sizes): string {
  return size.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readCount(size: keyof Sizes, text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new OptionError(`--${toOption(size)}: expected a whole number above 0, but got '${text}'`);
  return Number(text);
}
