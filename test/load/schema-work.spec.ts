import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { closed, type Schema, word } from '../support/schemas.js';
import { makeSchemaData, type SchemaData } from '../../src/simulator/schema/schema-data.js';

const pattern = (source: string, more: Schema = {}): Schema => ({ ...word, pattern: source, ...more });
const list = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const many = (count: number, make: (index: number) => unknown): Schema =>
  Object.fromEntries(list(count, (index) => [`p${index}`, make(index)]));
const items = (minItems: number, schema: unknown, more: Schema = {}): Schema => ({
  type: 'array',
  minItems,
  items: schema,
  ...more,
});

/** An object of which the only value is excluded: json-schema-faker draws it twenty times. */
const exclude = (inner: Schema): Schema => {
  const value = (schema: Schema): unknown =>
    'const' in schema ? schema.const : { a: value((schema.properties as { a: Schema }).a) };
  return { ...closed({ a: inner }), not: { const: { a: value(inner) } } };
};

/** A tenth of the usual bound: work that is not counted ends with neither. */
const STEPS = 1_000_000;

const EVIL = '^(a+)+$';
const LONG = `${'a'.repeat(60)}b`;

/** Each is work of another kind. */
const TOO_MUCH: readonly (readonly [name: string, schema: Schema])[] = [
  ['a pattern beside a const', { const: LONG, pattern: EVIL }],
  ['a pattern of what is drawn for another', closed({ a: { allOf: [pattern('^a{60}b$'), pattern(EVIL)] } })],
  ['a pattern of a declared property', { ...closed({ [LONG]: word }), patternProperties: { [EVIL]: word } }],
  [
    'a pattern of names',
    { type: 'object', properties: { [LONG]: {} }, required: [LONG], propertyNames: { pattern: EVIL } },
  ],
  ['a pattern of properties', { type: 'object', required: [LONG], patternProperties: { [EVIL]: word } }],
  ['a pattern that repeats nothing', closed({ a: pattern('^(?:){2000000000}$') })],
  ['lists whose items are never different', items(400, items(3, { enum: [[1], [1]] }, { uniqueItems: true }))],
  ['values that are excluded, at every level', list(6, () => null).reduce(exclude, exclude({ const: 1 }))],
  ['lists of the same, tried again and again', items(900, items(5, { type: 'null' }, { uniqueItems: true }))],
  ['large lists for every attempt', closed({ a: items(19_000, word), b: { ...word, minLength: 3, maxLength: 2 } })],
  ['objects that could have many properties', items(15_000, { type: 'object', properties: many(4000, () => word) })],
  ['a large constant for every item', items(19_000, { const: list(9000, (index) => index) })],
  ['alternatives for every item', items(4999, { anyOf: list(4000, () => ({ type: 'object', maxProperties: 0 })) })],
  [
    'names that no pattern gives',
    { type: 'object', minProperties: 999, additionalProperties: word, propertyNames: pattern('^z{3}$') },
  ],
];

const FOUND: readonly (readonly [name: string, schema: Schema])[] = [
  [
    'patterns',
    closed({
      a: pattern('^[A-Z]{3}-\\d{4}$'),
      b: pattern('^[a-z]+$', { minLength: 12, maxLength: 14 }),
      c: pattern('^\\S+@\\S+\\.\\S+$'),
    }),
  ],
  ['many patterns', closed(many(300, (index) => pattern(`^[A-Z]{2}-${index}$`)))],
  [
    'properties of patterns',
    {
      type: 'object',
      patternProperties: { '^x-[a-z]+$': { type: 'integer' } },
      additionalProperties: false,
      minProperties: 3,
    },
  ],
  ['many items', items(1000, closed({ a: word, b: { type: 'integer' } }))],
];

afterEach(() => {
  jest.restoreAllMocks();
});

describe('work for a schema', () => {
  it.each(TOO_MUCH)('work for a schema ends after so many steps, whatever clocks say: %s', (_name, schema) => {
    const usual = makeSchemaData(schema, 7, STEPS);
    expect(usual).toEqual({ found: false, reason: expect.stringMatching(/too (large|many)/), tooMuch: true });
    expect(withWildClocks(() => makeSchemaData(schema, 7, STEPS))).toEqual(usual);
  });

  it('work for a schema has a bound without being given one', () => {
    expect(makeSchemaData(closed({ a: { const: LONG, pattern: EVIL } }), 7)).toMatchObject({ tooMuch: true });
  });

  it.each(FOUND)(
    'work for a schema finds the same, whatever clocks say and however slow the machine is: %s',
    (_name, schema) => {
      const usual = makeSchemaData(schema, 7);
      expect(usual.found).toBe(true);
      expect(withWildClocks(() => makeSchemaData(schema, 7))).toEqual(usual);
      jest.restoreAllMocks();
      expect(makeSchemaData(slow(schema), 7)).toEqual(usual);
    },
  );
});

/** Hours pass between any two looks at a clock. */
function withWildClocks(run: () => SchemaData): SchemaData {
  let now = Date.now();
  const pass = (): number => (now += 3_600_000);
  jest.spyOn(performance, 'now').mockImplementation(pass);
  jest.spyOn(Date, 'now').mockImplementation(pass);
  jest.spyOn(process, 'hrtime').mockImplementation(() => [pass(), 0]);
  jest.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: 1000 * pass(), system: 0 }));
  return run();
}

/** The schema, the first reading of which takes much CPU time: as much as a slow machine needs for what others do at once. */
function slow(schema: Schema): Schema {
  let isRead = false;
  const toJSON = (): Schema => {
    const start = process.cpuUsage();
    for (let used = 0; !isRead && used < 400_000;) {
      const { user, system } = process.cpuUsage(start);
      used = user + system;
    }
    isRead = true;
    return { ...schema };
  };
  return Object.defineProperty({ ...schema }, 'toJSON', { value: toJSON });
}
