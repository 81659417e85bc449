import fc from 'fast-check';

import type { Json } from './documents.js';

type Definitions = Readonly<Record<string, Json>>;

/** Texts of which some fit each pattern and enumeration of the API. */
const TEXTS = [
  '',
  'a',
  'resp_1',
  'conv_1',
  'resp 1',
  'a b',
  '..',
  'x'.repeat(65),
  'x'.repeat(300),
  'data:,',
  'http://a',
];

/** Values of every JSON type, for places where another one is expected. */
const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e9,
  '',
  'odd',
  'x'.repeat(600),
  [],
  [null],
  ['a', 'a'],
  {},
  { a: 1 },
];

const LEVELS = 5;

/** Values that fit a schema in most respects: patterns and lengths of texts are left to chance. */
export function valuesOf(schema: Json, definitions: Definitions, levels = LEVELS): fc.Arbitrary<unknown> {
  const inner = (one: Json): fc.Arbitrary<unknown> => valuesOf(one, definitions, levels - 1);
  if (levels === 0) return fc.constantFrom(...ODD);
  if (typeof schema.$ref === 'string') return inner(definitions[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const { allOf, anyOf } = schema as { readonly allOf?: readonly Json[]; readonly anyOf?: readonly Json[] };
  if (allOf !== undefined) {
    return fc
      .tuple(...allOf.map((one) => valuesOf(one, definitions, levels)))
      .map((parts) => (parts.every(isObject) ? (Object.assign({}, ...parts.toReversed()) as object) : parts[0]));
  }
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => valuesOf(one, definitions, levels)));
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  const types = [schema.type as string | readonly string[] | undefined].flat().filter((type) => type !== undefined);
  if (types.length === 0) return fc.constantFrom(...ODD);
  return fc.oneof(...types.map((type) => ofType(type, schema, inner)));
}

function ofType(type: string, schema: Json, inner: (schema: Json) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 5000 } = schema as { readonly minimum?: number; readonly maximum?: number };
  if (type === 'null') return fc.constant(null);
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: minimum - 1, max: maximum + 1 });
  if (type === 'number')
    return fc.constantFrom(minimum - 0.5, minimum, (minimum + maximum) / 2, maximum, maximum + 0.5);
  if (type === 'string') return fc.constantFrom(...TEXTS);
  if (type === 'array') return fc.array(inner((schema.items as Json | undefined) ?? {}), { maxLength: 2 });
  const { properties = {}, required = [] } = schema as { properties?: Definitions; required?: string[] };
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  // Few at a time: with all of them, hardly any body would be valid.
  return fc.subarray(optional, { maxLength: Math.min(3, optional.length) }).chain((names) => {
    const members = [...required, ...names].map((name) => [name, inner(properties[name] ?? {})] as const);
    return fc.record(Object.fromEntries(members));
  });
}

/** A value with one of its inner values replaced by an odd one, or one of its members removed. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(value);
  if (places.length === 0) return fc.constantFrom(...ODD);
  return fc
    .tuple(fc.constantFrom(...places), fc.option(fc.constantFrom(...ODD), { nil: undefined }))
    .map(([place, odd]) => {
      const copy = structuredClone(value);
      const last = place.at(-1) ?? '';
      const owner = place.slice(0, -1).reduce<unknown>((at, key) => (at as Json)[key], copy) as Record<string, unknown>;
      if (odd === undefined && !Array.isArray(owner)) Reflect.deleteProperty(owner, last);
      else owner[last] = odd ?? null;
      return copy;
    });
}

function placesIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[key], ...placesIn(inner).map((place) => [key, ...place])]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
