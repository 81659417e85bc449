import { generateSync } from 'json-schema-faker';
import type { JsonSchema } from 'json-schema-faker';

import type { SeededRandom } from '../seeded-random.js';
import type { PlainDocument, PlainSchema } from './plain-schema.js';
import { FORMATS, toPlainNumber, toPlainString } from './plain-values.js';
import { isSchemaObject } from './schema-parts.js';

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
  { definitions }: PlainDocument,
  { optionals, items, depth }: DrawSettings,
  random: SeededRandom,
): unknown {
  const $defs = Object.fromEntries([...definitions].map(([name, inner]) => [name.replace('#/$defs/', ''), inner]));
  const value = generateSync(isSchemaObject(schema) ? { ...schema, $defs } : schema, {
    seed: random.pickInteger(0, 0x7fffffff),
    optionalsProbability: optionals,
    maxDepth: depth,
    maxItems: items,
    formats: FORMATS,
    outputTransform: (drawn, from) => toPlainValue(drawn, from, random),
  });
  // Normalises the value to its JSON form, which is what is validated and sent.
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function toPlainValue(drawn: unknown, from: JsonSchema, random: SeededRandom): unknown {
  if (!isSchemaObject(from) || 'const' in from || 'enum' in from) return drawn;
  if (typeof drawn === 'string') return toPlainString(drawn, from, random);
  return typeof drawn === 'number' ? toPlainNumber(drawn, from, random) : drawn;
}
