import { generateSync } from 'json-schema-faker';
import type { JsonSchema } from 'json-schema-faker';

import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import type { PlainDocument, PlainSchema } from './plain-document.js';
import { FORMATS, toPlainNumber, toPlainString } from './plain-values.js';
import { countValues, isSchemaObject, toEntries, toList, toNumber } from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

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
