/** A property of this name is lost: json-schema-faker sets the prototype instead, and Ajv leaves its schema out. */
const PROTOTYPE = '__proto__';

/** Of the same length and characters, so that the lengths and patterns of a schema mean the same. */
const STAND_INS = ['__protx__', '__proty__', '__protz__'];

/** A schema without the name `__proto__`, and how to give values for it their names back. */
export interface HiddenPrototype {
  readonly schema: unknown;
  restore(value: unknown): unknown;
}

/** Replaces the name `__proto__` in a schema, given as JSON; null when it does not have it. */
export function hidePrototype(text: string): HiddenPrototype | null {
  if (!text.includes(PROTOTYPE)) return null;
  const standIn = STAND_INS.find((name) => !text.includes(name));
  if (standIn === undefined) return null;
  return {
    schema: JSON.parse(text.replaceAll(PROTOTYPE, standIn)),
    // JSON.parse makes `__proto__` a property like any other.
    restore: (value) => JSON.parse(JSON.stringify(value).replaceAll(standIn, PROTOTYPE)) as unknown,
  };
}
