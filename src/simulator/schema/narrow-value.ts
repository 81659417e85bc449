import { pickWord, shuffleWords } from '../answer/prose.js';
import type { MergedSchema } from './merge-parts.js';
import { isExcluded } from './schema-exclusions.js';
import { DeadEnd } from './schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';
import { matchesPattern, measurePattern } from './string-patterns.js';

/** Formats that json-schema-faker makes, or that `FORMATS` teaches it; a string of any other format is a word. */
const KNOWN_FORMATS = new Set([
  ...['date-time', 'date', 'time', 'duration', 'email', 'idn-email', 'uri', 'uri-reference', 'iri', 'iri-reference'],
  ...['hostname', 'idn-hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer', 'relative-json-pointer'],
  ...['iso-time', 'iso-date-time', 'byte', 'json-pointer-uri-fragment', 'url', 'uri-template'],
]);

/** Formats that json-schema-faker lacks, or gets wrong at times. */
export const FORMATS: Readonly<Record<string, () => string>> = {
  duration: () => 'PT30M',
  'iso-time': () => '09:30:00Z',
  'iso-date-time': () => '2026-01-15T09:30:00Z',
  byte: () => 'bGFudGVybg==',
  url: () => 'https://example.com/lantern',
  'json-pointer-uri-fragment': () => '#/lantern',
  // Braces would mean something to a shell, and a template may do without.
  'uri-template': () => 'https://example.com/lantern',
};

const LONGEST_STRING = 20_000;
/** The range of numbers where the schema leaves it open. */
const USUAL_RANGE = 100;
/** Integers that are looked at one by one. */
const MOST_CANDIDATES = 1000;
/** Characters a pattern may ask for. */
const LARGEST_PATTERN = 50_000;

/** A plain word where the schema allows one; what the format or the pattern demands otherwise. */
export function narrowString(merged: MergedSchema, random: SeededRandom): Record<string, unknown> {
  const { minLength = 0, maxLength = Infinity } = merged.bounds;
  if (minLength > LONGEST_STRING || minLength > maxLength) throw new DeadEnd('A string has an impossible length.');
  const { format, patterns } = merged;
  const bounds = { ...(minLength > 0 && { minLength }), ...(maxLength < Infinity && { maxLength }) };
  if (hasKnownFormat(merged) && (patterns.length === 0 || random.happens(50))) {
    return { type: 'string', format, ...bounds };
  }
  if (patterns.length === 0) return { const: fitWords(random, minLength, maxLength) };
  const word = shuffleWords(random).find((candidate) => fitsString(merged, candidate));
  if (word !== undefined) return { const: word };
  const pattern = random.pick(patterns);
  if (measurePattern(pattern) > LARGEST_PATTERN) throw new DeadEnd('A pattern asks for too much.');
  return { type: 'string', pattern, ...bounds };
}

/** Whether a string has the length and the patterns it must have. */
export function fitsString({ bounds, patterns }: MergedSchema, text: string): boolean {
  const { minLength = 0, maxLength = Infinity } = bounds;
  if (text.length < minLength || text.length > maxLength) return false;
  return patterns.every((pattern) => matchesPattern(pattern, text));
}

/** Whether a string is spelled by a format, so that plain words will not do. */
export function hasKnownFormat({ format }: MergedSchema): boolean {
  return format !== undefined && KNOWN_FORMATS.has(format);
}

/** Bounds on both sides, so that numbers stay readable. `preferSmall` is given up where such a number did not fit. */
export function narrowNumber(
  merged: MergedSchema,
  type: 'number' | 'integer',
  random: SeededRandom,
  preferSmall: boolean,
): Record<string, unknown> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = merged.bounds;
  const lowest = highestOf(minimum, exclusiveMinimum);
  const highest = lowestOf(maximum, exclusiveMaximum);
  // Small and whole where the schema allows it: tools often mean a count, whatever their schema says.
  const isRoomy = multipleOf === undefined && (lowest ?? 0) <= 1 && (highest ?? USUAL_RANGE) >= USUAL_RANGE;
  if (isRoomy && preferSmall) {
    return { const: random.pickInteger(2, USUAL_RANGE - 1) };
  }
  const from = lowest ?? (highest === undefined ? 1 : highest - USUAL_RANGE);
  const to = highest ?? from + Math.max(USUAL_RANGE, 2 * (multipleOf ?? 0));
  // A half is exact in binary, short in text, and no integer: some schemas want just that.
  if (type === 'number' && multipleOf === undefined && to - from > 2 && Number.isSafeInteger(Math.ceil(to - from))) {
    return { const: Math.floor(from) + random.pickInteger(1, Math.min(Math.floor(to - from) - 1, USUAL_RANGE)) + 0.5 };
  }
  const step = type === 'integer' && multipleOf !== undefined && !Number.isInteger(multipleOf) ? 1 : multipleOf;
  if (type === 'integer' && merged.excluded.values.size > 0 && to - from <= MOST_CANDIDATES) {
    return { const: pickInteger(from, to, step ?? 1, merged, random) };
  }
  return {
    type,
    ...(from === exclusiveMinimum ? { exclusiveMinimum: from } : { minimum: from }),
    ...(to === exclusiveMaximum ? { exclusiveMaximum: to } : { maximum: to }),
    ...(step !== undefined && { multipleOf: step }),
  };
}

/** An integer that is neither beyond the bounds nor excluded, where there are few of them. */
function pickInteger(
  from: number,
  to: number,
  step: number,
  { bounds, excluded }: MergedSchema,
  random: SeededRandom,
): number {
  const { exclusiveMinimum, exclusiveMaximum } = bounds;
  const first = Math.ceil(from);
  const candidates = Array.from({ length: Math.max(0, Math.floor(to) - first + 1) }, (_, index) => first + index);
  const left = candidates.filter(
    (candidate) =>
      candidate !== exclusiveMinimum &&
      candidate !== exclusiveMaximum &&
      candidate % step === 0 &&
      !isExcluded(candidate, excluded),
  );
  if (left.length === 0) throw new DeadEnd('No integer is left.');
  return random.pick(left);
}

function fitWords(random: SeededRandom, minLength: number, maxLength: number): string {
  let text = pickWord(random);
  if (random.happens(50) && text.length + 11 < maxLength) text += ` ${pickWord(random)}`;
  while (text.length < minLength) text += ` ${pickWord(random)}`;
  const cut = text.slice(0, maxLength);
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}s` : cut;
}

function highestOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.max(one, other ?? one);
}

function lowestOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.min(one, other ?? one);
}
