import { spend } from '../work.js';

/** An untrusted JSON Schema from a client. */
export type SchemaObject = Readonly<Record<string, unknown>>;

/** No value was found for a schema. The message is for the client. */
export class NoValue extends Error {
  override readonly name: string = 'NoValue';
}

/** Levels of a schema, and references that follow one another. Fewer than the stack has room for, which differs from run to run. */
export const MOST_LEVELS = 1000;

/** A schema has more than MOST_LEVELS. */
export class NestsTooDeeply extends NoValue {
  constructor() {
    super('It nests too deeply for the simulator.');
  }
}

/** Whether a value is a schema of the object form. */
export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an array, otherwise an empty one. */
export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The strings in an array; empty for other values. */
export function toStrings(value: unknown): readonly string[] {
  return toList(value).filter((element) => typeof element === 'string');
}

/** The entries of an object; empty for other values. */
export function toEntries(value: unknown): readonly (readonly [name: string, value: unknown])[] {
  return isSchemaObject(value) ? Object.entries(value) : [];
}

/** `anyOf` and `oneOf` of a schema, if present. */
export function listAlternatives({ anyOf, oneOf }: SchemaObject): readonly (readonly unknown[])[] {
  return [anyOf, oneOf].filter((list) => Array.isArray(list)).map(toList);
}

/** The value if it is a number, otherwise `usual`. */
export function toNumber(value: unknown, usual: number): number {
  return typeof value === 'number' ? value : usual;
}

/** The types in `type`; undefined if absent. */
export function toTypes(type: unknown): readonly string[] | undefined {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? toStrings(type) : undefined;
}

/** Steps of work to look at a value in another. */
export const LOOK_STEPS = 2;

/** The values in a value, itself included, down to so many levels. */
export function countValues(value: unknown, levels = Infinity): number {
  spend(LOOK_STEPS);
  if (typeof value !== 'object' || value === null || levels === 0) return 1;
  let count = 1;
  for (const inner of Object.values(value)) count += countValues(inner, levels - 1);
  return count;
}
