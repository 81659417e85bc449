import type { MergedSchema } from './merge-parts.js';
import type { SchemaObject } from './schema-parts.js';
import { isSchemaObject } from './schema-parts.js';
import { matchesPattern } from './string-patterns.js';

/** Names that need not be there, and bring nothing along when they are. */
export function listOptionalNames(merged: MergedSchema): readonly string[] {
  const triggers = new Set(listTriggers(merged));
  return listUnrequiredNames(merged).filter((name) => !triggers.has(name));
}

/** Names that need not be there, but bring something along when they are. */
export function listTriggers(merged: MergedSchema): readonly string[] {
  const triggers = new Set(listDependents(merged.parts).map(([name]) => name));
  return triggers.size === 0 ? [] : listUnrequiredNames(merged).filter((name) => triggers.has(name));
}

/** What a property brings along: a schema, or a list of other names. */
export function listDependents(
  parts: readonly SchemaObject[],
): readonly (readonly [name: string, dependent: unknown])[] {
  return parts
    .flatMap(({ dependentSchemas, dependentRequired, dependencies }) => [
      dependentSchemas,
      dependentRequired,
      dependencies,
    ])
    .filter(isSchemaObject)
    .flatMap((dependents) => Object.entries(dependents));
}

/** The names a schema lists. */
export function listNames({ properties }: SchemaObject): readonly string[] {
  return isSchemaObject(properties) ? Object.keys(properties) : [];
}

/** The patterns of the names that a schema knows. */
export function listPatterns({ patternProperties }: SchemaObject): readonly string[] {
  return isSchemaObject(patternProperties) ? Object.keys(patternProperties) : [];
}

/** What all parts together ask of one property. */
export function listPropertySchemas(parts: readonly SchemaObject[], name: string): readonly unknown[] {
  return parts.flatMap(({ properties, patternProperties, additionalProperties }) => {
    const own = isSchemaObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
    const matching = Object.entries(isSchemaObject(patternProperties) ? patternProperties : {})
      .filter(([pattern]) => matchesPattern(pattern, name))
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

function listUnrequiredNames({ parts, required }: MergedSchema): readonly string[] {
  return [...new Set(parts.flatMap(listNames))].filter((name) => !required.includes(name));
}
