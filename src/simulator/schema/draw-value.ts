import { generateSync, type JsonSchema } from 'json-schema-faker';

import { pickWord, shuffleWords } from '../answer/words.js';
import { Pattern } from '../pattern/pattern.js';
import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import type { PlainDocument, PlainSchema } from './plain-document.js';
import {
  countValues,
  isSchemaObject,
  type SchemaObject,
  toEntries,
  toList,
  toNumber,
  toTypes,
} from './schema-parts.js';

/** Steps to begin a draw, to register a definition for it, to visit a schema, to merge a schema into another. */
const DRAW_STEPS = 500;
const DEFINITION_STEPS = 10;
const VISIT_STEPS = 100;
const MERGE_STEPS = 20;
/** Steps for a character that json-schema-faker draws. */
const CHARACTER_STEPS = 25;
/** Steps for a property that an object may have. */
const PROPERTY_STEPS = 30;
/** Steps for each value in a constant, which is copied. */
const CHOSEN_STEPS = 15;

/** How much optional data to draw. */
export interface DrawSettings {
  /** Probability of an optional property, 0 to 1. */
  readonly optionals: number;
  /** Maximum items of a list, beyond the required ones. */
  readonly items: number;
  /** Levels of properties, items and references. */
  readonly depth: number;
}

/** Draws required data only. */
export const REQUIRED_ONLY: DrawSettings = { optionals: 0, items: 0, depth: 40 };

/** Draws a value with json-schema-faker, deterministically. The value may be invalid under the schema. */
export function drawValue(
  schema: PlainSchema,
  { definitions, merged }: PlainDocument,
  { optionals, items, depth }: DrawSettings,
  random: SeededRandom,
): unknown {
  spend(DRAW_STEPS + DEFINITION_STEPS * definitions.size);
  const $defs = Object.fromEntries([...definitions].map(([name, inner]) => [name.replace('#/$defs/', ''), inner]));
  const value = generateSync(isSchemaObject(schema) ? { ...schema, $defs } : schema, {
    seed: random.pickInteger(0, 0x7fffffff),
    optionalsProbability: optionals,
    maxDepth: depth,
    maxItems: items,
    formats: FORMATS,
    propAliases: countVisits(VISIT_STEPS + MERGE_STEPS * merged),
    outputTransform: (drawn, from) => {
      if (isSchemaObject(from)) spend(measureSteps(drawn, from, merged));
      return toPlainValue(drawn, from, random);
    },
  });
  // Normalises the value to its JSON form, which is what is validated and sent.
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/**
 * Spends steps whenever json-schema-faker visits a schema: it looks for aliases then, and finds none. The estimates before a draw do
 * not know how often it tries again, for example until the items of a list are different.
 */
function countVisits(steps: number): Record<string, string> {
  const spendSteps = (): string[] => {
    spend(steps);
    return [];
  };
  return new Proxy({}, { ownKeys: spendSteps });
}

/** Steps of a value beside the visit. */
function measureSteps(drawn: unknown, from: SchemaObject, merged: number): number {
  if ('const' in from || 'enum' in from) return CHOSEN_STEPS * countValues(drawn) + toList(from.enum).length;
  if (typeof drawn === 'string') return CHARACTER_STEPS * drawn.length;
  if (!isSchemaObject(drawn)) return 0;
  const width = toEntries(from.properties).length;
  const dependent = toEntries(from.dependentRequired).length + toEntries(from.dependencies).length;
  // json-schema-faker lists all names again for each property that depends on one, and for each that it takes away.
  const pairs = dependent ** 2 + (toNumber(from.maxProperties, Infinity) < width ? width ** 2 : 0);
  return PROPERTY_STEPS * width * merged + pairs;
}

function toPlainValue(drawn: unknown, from: JsonSchema, random: SeededRandom): unknown {
  if (!isSchemaObject(from) || 'const' in from || 'enum' in from) return drawn;
  if (typeof drawn === 'string') return toPlainString(drawn, from, random);
  return typeof drawn === 'number' ? toPlainNumber(drawn, from, random) : drawn;
}

/** Formats that json-schema-faker lacks or sometimes gets wrong. */
const FORMATS: Readonly<Record<string, () => string>> = {
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
function toPlainString(drawn: string, schema: SchemaObject, random: SeededRandom): string {
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
function toPlainNumber(drawn: number, schema: SchemaObject, random: SeededRandom): number {
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
