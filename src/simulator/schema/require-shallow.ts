import type { PlainDocument } from './plain-document.js';
import { isSchemaObject, NestsTooDeeply, toEntries } from './schema-parts.js';

/** Schemas within schemas, references included: Ajv has room for 320 at least. */
const MOST_LEVELS = 250;

const MAPS = ['properties', 'dependentSchemas', 'dependencies'];

/**
 * Throws NestsTooDeeply for a schema that may be too deep for Ajv. It calls itself for each level. For how many there is room is
 * not the same in every run, because V8 makes the stack smaller of functions that have been called often.
 */
export function requireShallow({ root, definitions, patterns }: PlainDocument): void {
  const seen = new Set<unknown>();

  function visit(schema: unknown, level: number): void {
    if (!isSchemaObject(schema) || seen.has(schema)) return;
    seen.add(schema);
    if (level > MOST_LEVELS) throw new NestsTooDeeply();
    const { $ref, enum: _listed, const: _single, pattern: _pattern, ...others } = schema;
    for (const [keyword, value] of Object.entries(others)) {
      const inner = MAPS.includes(keyword) ? toEntries(value).map(([, part]) => part) : [value].flat();
      for (const part of inner) visit(part, level + 1);
    }
    for (const [, part] of patterns.get(schema) ?? []) visit(part, level + 1);
    if (typeof $ref === 'string') visit(definitions.get($ref), level + 1);
  }

  visit(root, 1);
}
