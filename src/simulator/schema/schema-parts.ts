/** A JSON Schema as a client sent it: nothing about it is certain. */
export type SchemaObject = Readonly<Record<string, unknown>>;

/** Nothing that is valid was found this way; another way may succeed. */
export class DeadEnd extends Error {
  override readonly name = 'DeadEnd';
}

/** Whether a value is a schema of the object form. */
export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The elements of a list that are strings; none where there is no list. */
export function toStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : [];
}

/** The types a schema names; undefined where it names none. */
export function toTypes(type: unknown): readonly string[] | undefined {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? toStrings(type) : undefined;
}

/** The values a schema names, with `const` or `enum`; undefined where it names none. */
export function toValues(part: SchemaObject): readonly unknown[] | undefined {
  if (Object.hasOwn(part, 'const')) return [part.const];
  return Array.isArray(part.enum) ? part.enum : undefined;
}
