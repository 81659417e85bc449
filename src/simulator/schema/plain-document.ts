import type { Pattern } from '../pattern/pattern.js';
import { type SchemaObject, toEntries, toList, toStrings } from './schema-parts.js';

/**
 * A schema with only the keywords that drawing supports; every `$ref` names a definition of its document, and `pattern` is a Pattern.
 */
export type PlainSchema = SchemaObject | boolean;

/** A schema document, rewritten for drawing. Drawn values are validated against the original. */
export interface PlainDocument {
  readonly root: PlainSchema;
  readonly definitions: ReadonlyMap<string, PlainSchema>;
  readonly schemas: readonly SchemaObject[];
  /**
   * The `patternProperties` that hold for a schema in it. They stand beside the schemas, because json-schema-faker would match them with RegExp,
   * which cannot be bounded; properties that are named get what their patterns say.
   */
  readonly patterns: ReadonlyMap<SchemaObject, readonly PatternProperty[]>;
  /** Schemas that json-schema-faker merges at worst when it visits one. */
  readonly merged: number;
}

/** An entry of `patternProperties`. */
export type PatternProperty = readonly [pattern: Pattern, schema: PlainSchema];

/** A schema whose named properties are also as the patterns say that match their names. */
export function settlePatterns(schema: SchemaObject, patterns: readonly PatternProperty[]): SchemaObject {
  if (patterns.length === 0) return schema;
  const properties = new Map(toEntries(schema.properties) as readonly (readonly [string, PlainSchema])[]);
  for (const name of listNames(schema)) {
    const declared = properties.get(name);
    const matching = matchPatterns(patterns, name);
    if (matching.length > 0)
      properties.set(name, joinSchemas(declared === undefined ? matching : [declared, ...matching]));
  }
  return properties.size === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) };
}

/** The schemas of the patterns that match a name. */
export function matchPatterns(patterns: readonly PatternProperty[], name: string): readonly PlainSchema[] {
  return patterns.filter(([pattern]) => pattern.test(name)).map(([, schema]) => schema);
}

/** The schema of what all of them allow. */
export function joinSchemas(schemas: readonly PlainSchema[]): PlainSchema {
  if (schemas.includes(false)) return false;
  const all = schemas.filter((schema) => schema !== true);
  return all.length > 1 ? { allOf: all } : (all[0] ?? true);
}

function listNames({ properties, required, dependentRequired, dependencies }: SchemaObject): ReadonlySet<string> {
  const lists = [dependentRequired, dependencies].flatMap(toEntries).flatMap(([, names]) => toStrings(toList(names)));
  return new Set([...toEntries(properties).map(([name]) => name), ...toStrings(required), ...lists]);
}
