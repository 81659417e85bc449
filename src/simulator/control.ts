import { ModelError } from '../providers/index.js';
import { FAULT_KINDS, type FaultKind, type GeneratorName, GENERATORS } from './names.js';
import { LENGTH_FORMS, type LengthSetting, parseLength } from './length.js';
import { type LatencySetting, parseLatency } from './latency.js';

/** Settings of one turn, from `x-simulate`. Absent members default to the configuration. */
export interface Control {
  readonly seed?: number;
  /** `none` disables configured faults for the turn. */
  readonly fault?: FaultKind | 'none';
  /** Number of times that the fault occurs for the same request. */
  readonly times?: number;
  /** Deltas before the fault. */
  readonly after?: number;
  /** Duration of a fault that takes time, ms. */
  readonly forMs?: number;
  readonly retryAfterSeconds?: number;
  readonly latency?: LatencySetting;
  readonly speed?: number;
  readonly generator?: GeneratorName;
  readonly text?: string;
  readonly length?: LengthSetting;
  /** Number of calls in this response. */
  readonly calls?: number;
  /** Rounds of calls after a user message. */
  readonly rounds?: number;
  /** Position in the script, from 1; later requests continue from there. */
  readonly turn?: number;
}

const MOST_CALLS = 128;

/** The header with these settings. */
export const CONTROL_HEADER = 'x-simulate';

/** Characters, as in HTTP headers. `client_metadata` has no limit of its own. */
const LONGEST_HEADER = 16 * 1024;

/** Characters of a value that errors quote. */
const LONGEST_QUOTE = 64;

/** For each key, a parser that returns undefined for invalid values, and a description of valid ones. */
const KEYS: Readonly<Record<string, readonly [read: (value: string) => Control | undefined, expected: string]>> = {
  seed: [number((seed) => ({ seed }), 0, 0xff_ff_ff_ff), 'a whole number from 0 to 4294967295'],
  fault: [word([...FAULT_KINDS, 'none'], (fault) => ({ fault })), `one of ${FAULT_KINDS.join(', ')}, none`],
  times: [number((times) => ({ times })), 'a whole number'],
  after: [number((after) => ({ after })), 'a whole number of deltas'],
  for: [number((forMs) => ({ forMs })), 'a whole number of milliseconds'],
  retry_after: [number((retryAfterSeconds) => ({ retryAfterSeconds })), 'a whole number of seconds'],
  latency: [readLatency, 'instant, realistic, or first/between in milliseconds such as 300/20'],
  speed: [readSpeed, 'a number above 0'],
  generator: [word(GENERATORS, (generator) => ({ generator })), `one of ${GENERATORS.join(', ')}`],
  text: [readText, 'a text, percent-encoded where it has percent signs, semicolons or letters beyond ASCII'],
  tokens: [readLength, LENGTH_FORMS],
  calls: [number((calls) => ({ calls }), 1, MOST_CALLS), `a whole number from 1 to ${MOST_CALLS}`],
  rounds: [number((rounds) => ({ rounds })), 'a whole number'],
  turn: [number((turn) => ({ turn }), 1, 1_000_000), 'a whole number from 1 to 1000000'],
};

/** Parses `x-simulate: fault=rate_limit; after=3; seed=7`. Throws ModelError 400 that names the violation. */
export function readControl(header: string): Control {
  if (header.length > LONGEST_HEADER) throw refuseControl(`it is longer than ${LONGEST_HEADER} characters.`);
  let control: Control = {};
  for (const entry of header.split(';').map((text) => text.trim())) {
    if (entry === '') continue;
    const separator = entry.indexOf('=');
    const key = (separator === -1 ? entry : entry.slice(0, separator)).trim();
    const [read, expected] = Object.hasOwn(KEYS, key) ? (KEYS[key] ?? []) : [];
    if (read === undefined)
      throw refuseControl(`unknown key '${shorten(key)}'. Expected one of ${Object.keys(KEYS).join(', ')}.`);
    const value = separator === -1 ? '' : entry.slice(separator + 1).trim();
    const part = read(value);
    if (part === undefined) throw refuseControl(`'${key}' cannot be '${shorten(value)}'. Expected ${expected}.`);
    control = { ...control, ...part };
  }
  return control;
}

function shorten(text: string): string {
  return text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE)}…`;
}

/** The ModelError 400 for an invalid header. */
export function refuseControl(violation: string): ModelError {
  return new ModelError('invalid_value', `Invalid 'x-simulate': ${violation}`, { status: 400, param: 'x-simulate' });
}

function number(use: (value: number) => Control, from = 0, to = Number.MAX_SAFE_INTEGER) {
  return (text: string): Control | undefined => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= from && value <= to ? use(value) : undefined;
  };
}

function word<T extends string>(words: readonly T[], use: (word: T) => Control) {
  return (text: string): Control | undefined => {
    const found = words.find((candidate) => candidate === text);
    return found === undefined ? undefined : use(found);
  };
}

function readLatency(text: string): Control | undefined {
  const latency = parseLatency(text);
  return latency === undefined ? undefined : { latency };
}

function readLength(text: string): Control | undefined {
  const length = parseLength(text);
  return length === undefined ? undefined : { length };
}

function readSpeed(text: string): Control | undefined {
  const speed = Number(text);
  return /^(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})$/.test(text) && speed > 0 ? { speed } : undefined;
}

function readText(text: string): Control | undefined {
  try {
    return { text: decodeURIComponent(text) };
  } catch {
    return undefined;
  }
}
