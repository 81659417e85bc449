/** A JSON Schema as a client sent it: nothing about it is certain. */
export type SchemaObject = Readonly<Record<string, unknown>>;

/** No value was found for a schema; the message tells the client why. */
export class NoValue extends Error {
  override readonly name = 'NoValue';
}

/** Whether a value is a schema of the object form. */
export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list as it is, anything else as the empty list. */
export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of a list that are strings; none where there is no list. */
export function toStrings(value: unknown): readonly string[] {
  return toList(value).filter((element) => typeof element === 'string');
}

/** The names and values of an object; none where there is no object. */
export function toEntries(value: unknown): readonly (readonly [name: string, value: unknown])[] {
  return isSchemaObject(value) ? Object.entries(value) : [];
}

/** The lists of alternatives of a schema, one of each of which has to hold. */
export function listAlternatives({ anyOf, oneOf }: SchemaObject): readonly (readonly unknown[])[] {
  return [anyOf, oneOf].filter((list) => Array.isArray(list)).map(toList);
}

/** A number as it is, anything else as `usual`. */
export function toNumber(value: unknown, usual: number): number {
  return typeof value === 'number' ? value : usual;
}

/** The types a schema names; undefined where it names none. */
export function toTypes(type: unknown): readonly string[] | undefined {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? toStrings(type) : undefined;
}
