import { fillSchema } from './fill-schema.js';
import { SchemaFlattener } from './flatten-schema.js';
import { SchemaNarrower } from './narrow-schema.js';
import { runBounded } from '../run-bounded.js';
import { DeadEnd, isSchemaObject } from './schema-parts.js';
import { SchemaReferences } from './schema-references.js';
import { compileSchema } from './schema-validator.js';
import { SeededRandom } from '../seeded-random.js';

/** How often, in a hundred, an optional property is made: plentiful at first, then only what has to be there. */
const ATTEMPTS = [70, 70, 40, 40, 0, 0, 0, 0, 0, 0, 0, 0] as const;
/** Places of a schema that are looked at in one attempt; real ones have a few hundred. */
const MOST_STEPS = 10_000;
/**
 * Milliseconds for one schema. Steps bound the work, the same on every machine; the clock ends what they cannot: patterns
 * that backtrack for ever, and validation that does nothing but compare.
 */
const LONGEST_WORK_MS = { withPatterns: 500, otherwise: 3000 };

/** Made of a schema: a valid value, or why there is none. */
export type SchemaData =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly reason: string; readonly tooLong: boolean };

/** A value that a JSON Schema allows: the same for the same seed, checked before it is given away. */
export function makeSchemaData(schema: unknown, seed: number): SchemaData {
  try {
    const hasPatterns = /"pattern(?:Properties)?"/.test(JSON.stringify(schema));
    return runBounded(
      () => tryToMake(schema, seed),
      hasPatterns ? LONGEST_WORK_MS.withPatterns : LONGEST_WORK_MS.otherwise,
    );
  } catch (error) {
    const reason = `It takes too long: ${error instanceof Error ? error.message : String(error)}`;
    return { found: false, reason, tooLong: true };
  }
}

function tryToMake(schema: unknown, seed: number): SchemaData {
  if (!isSchemaObject(schema) && typeof schema !== 'boolean')
    return { found: false, reason: 'It is not an object.', tooLong: false };
  let reason = 'No valid value was found.';
  let validate: ReturnType<typeof compileSchema> | undefined;
  let exhausted = false;
  const references = new SchemaReferences(schema);
  for (const [attempt, optional] of ATTEMPTS.entries()) {
    if (exhausted && optional > 0) continue;
    const flattener = new SchemaFlattener(references, new SeededRandom(seed, attempt), MOST_STEPS);
    try {
      const value = generateValue(schema, flattener, optional);
      // Only now: most schemas that nothing fits are found out before, at less cost.
      validate ??= compileSchema(schema);
      if (validate(value)) return { found: true, value };
    } catch (error) {
      reason = error instanceof Error ? error.message : reason;
      if (!(error instanceof DeadEnd)) break;
      if (flattener.isExhausted && optional === 0) break;
      exhausted = flattener.isExhausted;
    }
  }
  return { found: false, reason, tooLong: false };
}

function generateValue(schema: unknown, flattener: SchemaFlattener, optional: number): unknown {
  const { random } = flattener;
  return fillSchema(new SchemaNarrower(flattener, random, optional).narrow(schema), random);
}
