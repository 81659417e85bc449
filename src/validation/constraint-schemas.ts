import type { JsonSchema } from './json-schema.js';

/** The JSON Schema of a decorator of class-validator, from its argument. */
type ConstraintSchema = (argument: unknown) => JsonSchema;

/** Patterns with other flags mean something else without them. */
const UNICODE_OR_NONE = /^u?$/;

function schemaOfMatches(argument: unknown): JsonSchema {
  const { flags, source } = argument as RegExp;
  if (!UNICODE_OR_NONE.test(flags)) throw new Error(`JSON Schema has no flags as those of /${source}/${flags}.`);
  return { type: 'string', pattern: source };
}

function schemaOfIsIn(argument: unknown): JsonSchema {
  const values = argument as readonly unknown[];
  return values.every((value) => typeof value === 'string') ? { type: 'string', enum: values } : { enum: values };
}

/** What CONSTRAINT_COMPILERS checks, as keywords of JSON Schema. `Min` and `Max` stand beside a decorator with the type. */
export const CONSTRAINT_SCHEMAS: ReadonlyMap<string, ConstraintSchema> = new Map<string, ConstraintSchema>([
  ['isDefined', () => ({ not: { type: 'null' } })],
  ['isString', () => ({ type: 'string' })],
  ['isBoolean', () => ({ type: 'boolean' })],
  ['isInt', () => ({ type: 'integer' })],
  ['isNumber', () => ({ type: 'number' })],
  ['isObject', () => ({ type: 'object' })],
  ['isArray', () => ({ type: 'array' })],
  ['isIn', schemaOfIsIn],
  ['matches', schemaOfMatches],
  ['min', (minimum) => ({ minimum })],
  ['max', (maximum) => ({ maximum })],
  ['minLength', (minLength) => ({ type: 'string', minLength })],
  ['maxLength', (maxLength) => ({ type: 'string', maxLength })],
  ['arrayNotEmpty', () => ({ type: 'array', minItems: 1 })],
  ['arrayMaxSize', (maxItems) => ({ type: 'array', maxItems })],
]);
