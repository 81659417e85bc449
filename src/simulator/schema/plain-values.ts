import { pickWord, shuffleWords } from '../answer/words.js';
import { Pattern } from '../pattern/pattern.js';
import type { SeededRandom } from '../seeded-random.js';
import { toNumber, toTypes } from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

/** Formats that json-schema-faker lacks or sometimes gets wrong. */
export const FORMATS: Readonly<Record<string, () => string>> = {
  duration: () => 'PT30M',
  'iso-time': () => '09:30:00Z',
  'iso-date-time': () => '2026-01-15T09:30:00Z',
  byte: () => 'bGFudGVybg==',
  url: () => 'https://example.com/lantern',
  'json-pointer-uri-fragment': () => '#/lantern',
  // Without braces, which are special in shells.
  'uri-template': () => 'https://example.com/lantern',
};

/** Supported formats; strings of other formats are words. */
const KNOWN_FORMATS = new Set([
  ...['date-time', 'date', 'time', 'email', 'idn-email', 'uri', 'uri-reference', 'iri', 'iri-reference', 'hostname'],
  ...['idn-hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer', 'relative-json-pointer', ...Object.keys(FORMATS)],
]);
/** Upper bound of numbers without bounds in the schema. */
const USUAL_RANGE = 100;

/** A word if the schema allows one, otherwise what its pattern or its format says. */
export function toPlainString(drawn: string, schema: SchemaObject, random: SeededRandom): string {
  if (KNOWN_FORMATS.has(String(schema.format))) return drawn;
  const [least, most] = [toNumber(schema.minLength, 0), toNumber(schema.maxLength, Infinity)];
  const { pattern } = schema;
  if (!(pattern instanceof Pattern)) return makeWords(random, least, most);
  const isAllowed = (text: string): boolean => text.length >= least && text.length <= most && pattern.test(text);
  const word = shuffleWords(random).find(isAllowed);
  if (word !== undefined) return word;
  const text = pattern.draw(random, least, most);
  // A pattern without an end anchor allows a word after the text, which makes values distinct.
  const longer = text + pickWord(random);
  return isAllowed(longer) ? longer : text;
}

/** A small number if the schema allows one, usually an integer, otherwise one within the bounds. */
export function toPlainNumber(drawn: number, schema: SchemaObject, random: SeededRandom): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const low = Math.max(toNumber(minimum, -Infinity), toNumber(exclusiveMinimum, -Infinity));
  const high = Math.min(toNumber(maximum, Infinity), toNumber(exclusiveMaximum, Infinity));
  const any = random.pickInteger(2, USUAL_RANGE - 2);
  if (multipleOf === undefined && low <= 1 && high >= USUAL_RANGE) {
    // Halves satisfy schemas that exclude integers.
    return toTypes(schema.type)?.includes('number') === true && random.happens(30) ? any + 0.5 : any;
  }
  const step = toNumber(multipleOf, 1);
  let value = drawn;
  // json-schema-faker stays between -1000 and 1000 even if a bound is outside of this range.
  if (high === Infinity && low !== -Infinity) value = (Math.floor(low / step) + any) * step;
  else if (low === -Infinity && high !== Infinity) value = (Math.ceil(high / step) - any) * step;
  else if (multipleOf === undefined && isWithin(Math.round(drawn), schema)) value = Math.round(drawn);
  // Removes floating-point errors such as 3 * 0.1.
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

function makeWords(random: SeededRandom, least: number, most: number): string {
  let text = pickWord(random);
  if (random.happens(50) && text.length + 11 < most) text += ` ${pickWord(random)}`;
  while (text.length < least) text += ` ${pickWord(random)}`;
  const cut = text.slice(0, most);
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}s` : cut;
}
