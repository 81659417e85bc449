import { pickWord, shuffleWords } from '../answer/prose.js';
import type { SeededRandom } from '../seeded-random.js';
import { toNumber, toTypes } from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

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

/** With those that json-schema-faker knows; a string of any other format is a word. */
const KNOWN_FORMATS = new Set([
  ...['date-time', 'date', 'time', 'email', 'idn-email', 'uri', 'uri-reference', 'iri', 'iri-reference', 'hostname'],
  ...['idn-hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer', 'relative-json-pointer', ...Object.keys(FORMATS)],
]);
/** The range of numbers where the schema leaves it open. */
const USUAL_RANGE = 100;

/** A plain word where the schema allows one; otherwise what was drawn for the format or the pattern. */
export function toPlainString(drawn: string, schema: SchemaObject, random: SeededRandom): string {
  if (KNOWN_FORMATS.has(String(schema.format))) return drawn;
  const [least, most] = [toNumber(schema.minLength, 0), toNumber(schema.maxLength, Infinity)];
  if (typeof schema.pattern !== 'string') return makeWords(random, least, most);
  const pattern = compilePattern(schema.pattern);
  // A pattern without an end leaves room for a word, which tells one value from another.
  return (
    [...shuffleWords(random), drawn + pickWord(random)].find(
      (text) => text.length >= least && text.length <= most && pattern.test(text),
    ) ?? drawn
  );
}

/** A small number where the schema allows one, and most often a whole one; otherwise one within the bounds. */
export function toPlainNumber(drawn: number, schema: SchemaObject, random: SeededRandom): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const low = Math.max(toNumber(minimum, -Infinity), toNumber(exclusiveMinimum, -Infinity));
  const high = Math.min(toNumber(maximum, Infinity), toNumber(exclusiveMaximum, Infinity));
  const any = random.pickInteger(2, USUAL_RANGE - 2);
  if (multipleOf === undefined && low <= 1 && high >= USUAL_RANGE) {
    // A half is no integer: some schemas want just that.
    return toTypes(schema.type)?.includes('number') === true && random.happens(30) ? any + 0.5 : any;
  }
  const step = toNumber(multipleOf, 1);
  let value = drawn;
  // json-schema-faker stays between -1000 and 1000, whatever a single bound is.
  if (high === Infinity && low !== -Infinity) value = (Math.floor(low / step) + any) * step;
  else if (low === -Infinity && high !== Infinity) value = (Math.ceil(high / step) - any) * step;
  else if (multipleOf === undefined && isWithin(Math.round(drawn), schema)) value = Math.round(drawn);
  // Rounded, as 3 * 0.1 is not 0.3.
  return Number(value.toPrecision(16));
}

function isWithin(value: number, { minimum, exclusiveMinimum, maximum, exclusiveMaximum }: SchemaObject): boolean {
  return (
    value >= toNumber(minimum, -Infinity) &&
    value > toNumber(exclusiveMinimum, -Infinity) &&
    value <= toNumber(maximum, Infinity) &&
    value < toNumber(exclusiveMaximum, Infinity)
  );
}

/** A regular expression of a schema, as JSON Schema reads it or as older clients write it. */
export function compilePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

function makeWords(random: SeededRandom, least: number, most: number): string {
  let text = pickWord(random);
  if (random.happens(50) && text.length + 11 < most) text += ` ${pickWord(random)}`;
  while (text.length < least) text += ` ${pickWord(random)}`;
  const cut = text.slice(0, most);
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}s` : cut;
}
