import type { SchemaData } from '../schema/schema-data.js';
import type { SeededRandom } from '../seeded-random.js';

/** A value that fits a schema. Ajv takes a while to load, and most turns do without it. */
export async function makeData(schema: unknown, random: SeededRandom): Promise<SchemaData> {
  const { makeSchemaData } = await import('../schema/schema-data.js');
  return makeSchemaData(schema, random.pickInteger(0, 0x7fffffff));
}
