import { isObject } from '../validation/index.js';

/** A JSON Schema, or a part of one. */
type Schema = Readonly<Record<string, unknown>>;

/** Whether a value has what one keyword asks for. Keywords ignore values of other types. */
type Rule = (value: unknown, expected: never, schema: Schema) => boolean;

/** A keyword that this file does not know. */
class UnknownKeywordError extends Error {}

/**
 * Whether a value surely matches a schema. False also where only Ajv can tell. To load Ajv and have it compile a schema takes longer than most
 * starts may, and most values are valid: Ajv is needed only for what is wrong.
 */
export function surelyMatches(schema: object, value: unknown): boolean {
  try {
    return matches(schema as Schema, value);
  } catch (error) {
    if (error instanceof UnknownKeywordError) return false;
    throw error;
  }
}

function matches(schema: Schema, value: unknown): boolean {
  for (const [keyword, expected] of Object.entries(schema)) {
    if (NOTES.has(keyword)) continue;
    const rule = RULES.get(keyword);
    if (rule === undefined) throw new UnknownKeywordError(keyword);
    if (!rule(value, expected as never, schema)) return false;
  }
  return true;
}

/** `then` and `else` belong to `if`. */
const NOTES = new Set(['description', 'title', 'then', 'else']);

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['type', (value, types: string | readonly string[]) => [types].flat().some((type) => isOfType(value, type))],
  ['const', (value, expected: unknown) => known(isPrimitive(expected)) && value === expected],
  ['enum', (value, values: readonly unknown[]) => known(values.every(isPrimitive)) && values.includes(value)],
  ['minLength', (value, least: number) => typeof value !== 'string' || Array.from(value).length >= least],
  ['maxLength', (value, most: number) => typeof value !== 'string' || Array.from(value).length <= most],
  ['pattern', (value, pattern: string) => typeof value !== 'string' || new RegExp(pattern, 'u').test(value)],
  ['format', (value, format: string) => typeof value !== 'string' || (known(format === 'regex') && isRegExp(value))],
  ['minimum', (value, least: number) => !isNumber(value) || value >= least],
  ['maximum', (value, most: number) => !isNumber(value) || value <= most],
  ['exclusiveMinimum', (value, bound: number) => !isNumber(value) || value > bound],
  ['minItems', (value, least: number) => !Array.isArray(value) || value.length >= least],
  ['maxItems', (value, most: number) => !Array.isArray(value) || value.length <= most],
  ['items', (value, item: Schema) => !Array.isArray(value) || value.every((member) => matches(item, member))],
  ['uniqueItems', (value) => !Array.isArray(value) || (known(value.every(isPrimitive)) && areDistinct(value))],
  ['minProperties', (value, least: number) => !isObject(value) || Object.keys(value).length >= least],
  ['required', (value, names: readonly string[]) => !isObject(value) || names.every((name) => has(value, name))],
  ['properties', (value, members: Readonly<Record<string, Schema>>) => !isObject(value) || haveMembers(value, members)],
  ['additionalProperties', (value, rest: Schema | boolean, schema) => !isObject(value) || hasRest(value, rest, schema)],
  ['propertyNames', (value, name: Schema) => !isObject(value) || namesOf(value).every((each) => matches(name, each))],
  [
    'dependentRequired',
    (value, needs: Readonly<Record<string, readonly string[]>>) => !isObject(value) || hasNeeded(value, needs),
  ],
  ['not', (value, schema: Schema) => !matches(schema, value)],
  ['allOf', (value, schemas: readonly Schema[]) => schemas.every((schema) => matches(schema, value))],
  ['anyOf', (value, schemas: readonly Schema[]) => schemas.some((schema) => matches(schema, value))],
  ['oneOf', (value, schemas: readonly Schema[]) => schemas.filter((schema) => matches(schema, value)).length === 1],
  [
    'if',
    (value, condition: Schema, { then, else: otherwise }) =>
      matches(((matches(condition, value) ? then : otherwise) ?? {}) as Schema, value),
  ],
]);

/** What is not known here is left to Ajv. */
function known(isKnown: boolean): boolean {
  if (!isKnown) throw new UnknownKeywordError();
  return true;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return type === 'number' ? isNumber(value) : typeof value === type;
}

/** JSON has no others. */
function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function isRegExp(pattern: string): boolean {
  // As `ajv-formats` has it.
  if (/[^\\]\\Z/.test(pattern)) return false;
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

function areDistinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

/** Programs give objects too, with members that are undefined or inherited. */
function has(value: Schema, name: string): boolean {
  return value[name] !== undefined;
}

function namesOf(value: Schema): readonly string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}

function haveMembers(value: Schema, members: Readonly<Record<string, Schema>>): boolean {
  return Object.entries(members).every(([name, member]) => !has(value, name) || matches(member, value[name]));
}

function hasRest(value: Schema, rest: Schema | boolean, { properties = {}, patternProperties }: Schema): boolean {
  known(patternProperties === undefined);
  if (rest === true) return true;
  const others = namesOf(value).filter((name) => !Object.hasOwn(properties as object, name));
  return rest === false ? others.length === 0 : others.every((name) => matches(rest, value[name]));
}

function hasNeeded(value: Schema, needs: Readonly<Record<string, readonly string[]>>): boolean {
  return Object.entries(needs).every(
    ([name, others]) => !has(value, name) || others.every((other) => has(value, other)),
  );
}
