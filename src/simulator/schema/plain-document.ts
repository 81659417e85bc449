import type { Pattern } from '../pattern/pattern.js';
import type { SchemaObject } from './schema-parts.js';

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
