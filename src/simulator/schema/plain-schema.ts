import { isSchemaObject, NoValue, toEntries, toList, toNumber, toTypes } from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

/** A schema with only the keywords that drawing supports; every `$ref` names a definition of its document. */
export type PlainSchema = SchemaObject | boolean;

/** A schema document, rewritten for drawing. Drawn values are validated against the original. */
export interface PlainDocument {
  readonly root: PlainSchema;
  readonly definitions: ReadonlyMap<string, PlainSchema>;
}

/** Maximum items of a list, beyond the required ones. */
export const MOST_ITEMS = 3;

const VALUES = [
  ...['type', 'enum', 'const', 'format', 'pattern', 'minLength', 'maxLength', 'multipleOf', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'required', 'dependentRequired'],
];
const SCHEMAS = ['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'];
const LISTS = ['prefixItems', 'allOf', 'anyOf', 'oneOf'];
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies'];
/** Keywords to cap: json-schema-faker draws up to the maximum, however large. */
const MOST_AND_LEAST = [
  ['maxLength', 'minLength'],
  ['maxContains', 'minContains'],
] as const;
const MOST_BEYOND_LEAST = 50;

/** Maximum values in a schema, at any depth. OpenAI accepts 5000 properties. */
const MOST_PARTS = 20_000;

/** Rewrites a schema for json-schema-faker, which treats unknown keywords as properties. Throws NoValue. */
export function toPlainDocument(root: SchemaObject | boolean): PlainDocument {
  const named = listNamedSchemas(root);
  const names = new Map<unknown, string>();
  const definitions = new Map<string, PlainSchema>();

  function defineTarget(reference: string): string {
    const target = resolveReference(reference, root, named);
    let name = names.get(target);
    if (name === undefined) {
      names.set(target, (name = `#/$defs/${names.size}`));
      definitions.set(name, convert(target));
    }
    return name;
  }

  function convert(place: unknown): PlainSchema {
    if (typeof place === 'boolean') return place;
    if (!isSchemaObject(place)) throw new NoValue('A part of it is neither an object nor a boolean.');
    // Draft 7 has tuples in `items` and the schema of further items in `additionalItems`.
    const { items, additionalItems = true, ...others } = place;
    const schema = Array.isArray(items) ? { ...others, prefixItems: items, items: additionalItems } : place;
    const plain = Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]) => convertKeyword(keyword, value)),
    );
    const reference = place.$ref ?? place.$dynamicRef;
    if (typeof reference === 'string') plain.$ref = defineTarget(reference);
    for (const [most, least] of MOST_AND_LEAST) {
      if (most in plain)
        plain[most] = Math.min(toNumber(plain[most], 0), toNumber(plain[least], 0) + MOST_BEYOND_LEAST);
    }
    // The limit of the draw is lower, and with `maxItems` json-schema-faker applies that limit to `minItems` too.
    if (toNumber(plain.maxItems, 0) >= MOST_ITEMS) delete plain.maxItems;
    const types = toTypes(plain.type);
    if (Array.isArray(plain.enum)) plain.enum = plain.enum.filter((value) => hasType(value, types));
    return plain;
  }

  function convertKeyword(keyword: string, value: unknown): readonly (readonly [keyword: string, value: unknown])[] {
    if (VALUES.includes(keyword)) return [[keyword, value]];
    if (SCHEMAS.includes(keyword)) return [[keyword, convert(value)]];
    if (LISTS.includes(keyword) && Array.isArray(value)) return [[keyword, value.map(convert)]];
    if (!MAPS.includes(keyword)) return [];
    const inner = toEntries(value).map(([name, part]) => [name, Array.isArray(part) ? part : convert(part)]);
    return [[keyword, Object.fromEntries(inner)]];
  }

  return { root: convert(root), definitions };
}

/** The schemas with an `$id`, and those with an anchor by `#` and its name. */
function listNamedSchemas(root: unknown): ReadonlyMap<string, unknown> {
  const named = new Map<string, unknown>();
  const places = [root];
  for (const place of places) {
    if (places.length > MOST_PARTS) throw new NoValue('It is too large for the simulator.');
    for (const inner of isSchemaObject(place) ? Object.values(place) : toList(place)) places.push(inner);
    if (!isSchemaObject(place)) continue;
    const { $id, $anchor, $dynamicAnchor } = place;
    if (typeof $id === 'string') named.set($id, place);
    for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === 'string') named.set(`#${anchor}`, place);
  }
  return named;
}

function resolveReference(reference: string, root: unknown, named: ReadonlyMap<string, unknown>): unknown {
  if (named.has(reference)) return named.get(reference);
  const [id = '', pointer = ''] = reference.split('#');
  let place = id === '' ? root : named.get(id);
  if (place === undefined) throw new NoValue(`The reference '${reference}' is outside of the schema.`);
  for (const encoded of pointer.split('/').slice(1)) {
    const segment = decodeURIComponent(encoded).replaceAll('~1', '/').replaceAll('~0', '~');
    place =
      typeof place === 'object' && place !== null && Object.hasOwn(place, segment)
        ? Reflect.get(place, segment)
        : undefined;
  }
  if (place === undefined || /^[^/]/.test(pointer)) throw new NoValue(`The reference '${reference}' has no target.`);
  return place;
}

function hasType(value: unknown, types: readonly string[] | undefined): boolean {
  if (types === undefined || (Number.isInteger(value) && types.includes('integer'))) return true;
  return types.includes(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
}
