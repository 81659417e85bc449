import { spend } from '../work.js';
import type { PlainDocument } from './plain-document.js';
import { isSchemaObject, listAlternatives, MOST_LEVELS, NestsTooDeeply, toList } from './schema-parts.js';

/** Steps for each schema. */
const SCHEMA_STEPS = 20;

/** Schemas that json-schema-faker merges at worst when it visits one: those of an `allOf`, and those within them. */
export function countMerged({ definitions, schemas }: Pick<PlainDocument, 'definitions' | 'schemas'>): number {
  const counts = new Map<unknown, number>();
  let levels = 0;

  function count(schema: unknown): number {
    if (!isSchemaObject(schema)) return 1;
    const known = counts.get(schema);
    if (known !== undefined) return known;
    // Within itself it counts once: the depth of the draw ends it.
    counts.set(schema, 1);
    if (++levels > MOST_LEVELS) throw new NestsTooDeeply();
    const { $ref, allOf, not, if: condition, then: consequence, else: alternative } = schema;
    const all: unknown[] = [...toList(allOf), not, condition, consequence, alternative].filter(
      (inner) => inner !== undefined,
    );
    if (typeof $ref === 'string') all.push(definitions.get($ref));
    // Alternatives are tried one after the other, each in a visit of its own.
    const tried = listAlternatives(schema).map((list) => list.map(count).reduce((most, one) => Math.max(most, one), 1));
    const counted = [...tried, ...all.map(count)].reduce((sum, one) => sum + one, 1);
    counts.set(schema, counted);
    levels -= 1;
    return counted;
  }

  spend(SCHEMA_STEPS * schemas.length);
  return schemas.map(count).reduce((most, one) => Math.max(most, one), 1);
}
