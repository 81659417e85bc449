import type { SchemaData } from '../schema/schema-data.js';
import type { SeededRandom } from '../seeded-random.js';

/** A value that a schema allows. Ajv is loaded on first use, because it is slow to load and most turns do not need it. */
export async function makeData(schema: unknown, random: SeededRandom): Promise<SchemaData> {
  const { fillSchema } = await import('../schema/fill-schema.js');
  return fillSchema(schema, random.pickInteger(0, 0x7fffffff));
}
