import { generateSync } from 'json-schema-faker';

import { FORMATS } from './narrow-value.js';
import type { SeededRandom } from '../seeded-random.js';

/** A schema of one small family of values: no references, no alternatives, nothing optional, nothing unbounded. */
export type NarrowSchema = Record<string, unknown>;

/** A value of a schema that has been narrowed. */
export function fillSchema(schema: NarrowSchema, random: SeededRandom): unknown {
  const value = generateSync(schema, {
    seed: random.pickInteger(0, 0x7fffffff),
    alwaysFakeOptionals: true,
    maxDepth: Infinity,
    formats: FORMATS,
  });
  // What is checked has to be what will be on the wire.
  return JSON.parse(JSON.stringify(value));
}
