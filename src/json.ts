/** A JSON object, as opposed to an array or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The elements of an array; empty for other values. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON objects among the elements of an array; empty for other values. */
export function objectsIn(value: unknown): readonly Record<string, unknown>[] {
  return listIn(value).filter(isObject);
}

/** Parses JSON; undefined for invalid text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
