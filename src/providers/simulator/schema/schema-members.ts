import { pickWord } from '../answer/prose.js';
import type { MergedSchema, SchemaObject } from './schema-parts.js';
import { isSchemaObject } from './schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';

/** Names that need not be there, and ask for nothing else when they are not. */
export function listOptionalNames({ parts, required }: MergedSchema): readonly string[] {
  const triggers = new Set(
    parts.flatMap(({ dependentSchemas, dependentRequired, dependencies }) =>
      [dependentSchemas, dependentRequired, dependencies].flatMap((map) => Object.keys(isSchemaObject(map) ? map : {})),
    ),
  );
  return [...new Set(parts.flatMap(listNames))].filter((name) => !required.includes(name) && !triggers.has(name));
}

/** The names a schema lists. */
export function listNames({ properties }: SchemaObject): readonly string[] {
  return isSchemaObject(properties) ? Object.keys(properties) : [];
}

/** What all parts together ask of one property. */
export function listPropertySchemas(parts: readonly SchemaObject[], name: string): readonly unknown[] {
  return parts.flatMap(({ properties, patternProperties, additionalProperties }) => {
    const own = isSchemaObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
    const matching = Object.entries(isSchemaObject(patternProperties) ? patternProperties : {})
      .filter(([pattern]) => matches(pattern, name))
      .map(([, schema]) => schema);
    const found = [...own, ...matching];
    return found.length > 0 || additionalProperties === undefined ? found : [additionalProperties];
  });
}

/** What all parts together ask of the item at an index. */
export function listItemSchemas(parts: readonly SchemaObject[], index: number): readonly unknown[] {
  return parts.flatMap(({ prefixItems, items, additionalItems }) => {
    // The tuples of draft 7 are in `items`, and what follows them in `additionalItems`.
    const tuple: unknown = prefixItems ?? (Array.isArray(items) ? items : []);
    const rest: unknown = Array.isArray(items) ? additionalItems : items;
    if (Array.isArray(tuple) && index < tuple.length) return [tuple[index] as unknown];
    return rest === undefined ? [] : [rest];
  });
}

/** A name for a property that the schema does not list. */
export function pickNewName({ parts }: MergedSchema, random: SeededRandom, attempt: number): string {
  const patterns = parts.flatMap(({ patternProperties }) =>
    isSchemaObject(patternProperties) ? Object.keys(patternProperties) : [],
  );
  const word = attempt < 10 ? pickWord(random) : `${pickWord(random)}_${attempt}`;
  return (
    patterns
      .map((pattern) => patternPrefix(pattern) + word)
      .find((name) => patterns.some((pattern) => matches(pattern, name))) ?? word
  );
}

/** The literal text that an anchored pattern begins with, as in `^x-`. */
function patternPrefix(pattern: string): string {
  return /^\^([\w-]+)/.exec(pattern)?.[1] ?? '';
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return false;
  }
}
