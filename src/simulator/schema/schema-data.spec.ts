import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { closed, type Schema, word } from '../../../test/support/schemas.js';
import { answer, callTool } from '../../../test/support/simulated-turn.js';

const tree = closed({
  value: { type: 'integer' },
  children: { type: 'array', items: { $ref: '#/$defs/tree' } },
});

const SCHEMAS: readonly (readonly [name: string, schema: Schema])[] = [
  ['a strict object', closed({ city: word, unit: { type: 'string', enum: ['c', 'f'] } })],
  ['no properties', closed({})],
  ['an object that takes anything', { type: 'object' }],
  [
    'const of every type',
    closed({ a: { const: 1 }, b: { const: null }, c: { const: { d: [1] } }, e: { const: 'é😀' } }),
  ],
  [
    'an enum of mixed types',
    closed({ a: { enum: [1, 'two', null, [3]] }, b: { type: 'integer', enum: [1, 'x', 2.5] } }),
  ],
  ['nullable by a list', closed({ a: { type: ['string', 'null'] }, b: { type: ['null', 'integer'], minimum: 5 } })],
  ['nullable by anyOf', closed({ a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } }, ['a'])],
  [
    'oneOf with a tag',
    closed({
      shape: {
        oneOf: [
          closed({ kind: { const: 'circle' }, radius: { type: 'number', exclusiveMinimum: 0 } }),
          closed({ kind: { const: 'square' }, side: { type: 'number', minimum: 1, maximum: 2 } }),
        ],
      },
    }),
  ],
  ['oneOf that overlaps', closed({ a: { oneOf: [{ type: 'integer' }, { type: 'number' }] } })],
  [
    'oneOf of required names',
    {
      type: 'object',
      properties: { id: { type: 'integer' }, name: word },
      additionalProperties: false,
      oneOf: [{ required: ['id'] }, { required: ['name'] }],
    },
  ],
  [
    'allOf that closes in',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'number', minimum: 3 } }, required: ['a'] },
        { properties: { a: { type: 'integer', maximum: 4 }, b: word }, required: ['b'] },
        { properties: { b: { minLength: 30 } } },
      ],
    },
  ],
  ['a tree', { ...tree, $defs: { tree } }],
  ['a tree by the root', closed({ name: word, left: { anyOf: [{ type: 'null' }, { $ref: '#' }] } })],
  [
    'an expression that must be entered twice',
    {
      $ref: '#/$defs/node',
      $defs: {
        node: { anyOf: [{ $ref: '#/$defs/both' }, { $ref: '#/$defs/leaf' }] },
        both: closed({ left: { $ref: '#/$defs/node' }, right: { $ref: '#/$defs/node' } }),
        leaf: closed({ value: { type: 'number' } }),
      },
    },
  ],
  [
    'thirty ways back to itself',
    closed(
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, { anyOf: [{ $ref: '#' }, { type: 'null' }] }])),
    ),
  ],
  [
    'a reference chain through definitions',
    { $ref: '#/definitions/a', definitions: { a: { $ref: '#/definitions/b~1c' }, 'b/c': closed({ x: word }) } },
  ],
  ['keywords beside $ref', closed({ a: { $ref: '#/$defs/text', minLength: 40, description: 'long' } })],
  [
    'formats',
    closed(
      Object.fromEntries(
        ['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri', 'uri-reference']
          .concat(['json-pointer', 'relative-json-pointer', 'regex', 'uri-template', 'byte', 'iso-time', 'x-unknown'])
          .map((format) => [format, { type: 'string', format }]),
      ),
    ),
  ],
  [
    'patterns',
    closed({
      code: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' },
      word: { type: 'string', pattern: '^[a-z]+$', minLength: 3, maxLength: 9 },
      version: { type: 'string', pattern: '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)$' },
      escaped: { type: 'string', pattern: '^\\-\\_x\\-$' },
    }),
  ],
  [
    'lengths',
    closed({
      none: { ...word, maxLength: 0 },
      one: { ...word, minLength: 1, maxLength: 1 },
      long: { ...word, minLength: 3000 },
    }),
  ],
  ['a string that may be endless', closed({ a: { ...word, maxLength: 1e9 } })],
  [
    'bounds of numbers',
    closed({
      a: { type: 'integer', minimum: 7, maximum: 7 },
      b: { type: 'integer', exclusiveMinimum: 7, exclusiveMaximum: 9 },
      c: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.001 },
      d: { type: 'integer', minimum: -9007199254740991, maximum: -9007199254740000 },
      e: { type: 'integer', multipleOf: 250 },
      f: { type: 'number', multipleOf: 0.01, minimum: 1 },
      g: { type: 'number', maximum: -5.5 },
      h: { type: 'integer', minimum: 0.5, maximum: 1.5 },
    }),
  ],
  [
    'lists',
    closed({
      some: { type: 'array', items: word, minItems: 2, maxItems: 5 },
      none: { type: 'array', items: word, maxItems: 0 },
      any: { type: 'array' },
      unique: { type: 'array', items: { enum: ['a', 'b', 'c', 'd'] }, minItems: 4, uniqueItems: true },
      words: { type: 'array', items: word, minItems: 6, uniqueItems: true },
      numbers: { type: 'array', items: { type: 'integer', minimum: 1, maximum: 4 }, minItems: 4, uniqueItems: true },
      tuple: { type: 'array', prefixItems: [word, { type: 'integer' }], items: false, minItems: 2 },
      contains: { type: 'array', contains: { const: 'needle' }, minContains: 2 },
      nested: { type: 'array', minItems: 1, items: { type: 'array', minItems: 1, items: closed({ a: word }) } },
    }),
  ],
  [
    'maps',
    closed({
      map: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 2 },
      patterned: {
        type: 'object',
        patternProperties: { '^x-': { type: 'boolean' } },
        additionalProperties: false,
        minProperties: 2,
      },
      small: { type: 'object', properties: { a: word, b: word, c: word }, maxProperties: 1 },
    }),
  ],
  [
    'if, then and else',
    {
      type: 'object',
      properties: { country: { enum: ['US', 'NL'] }, code: word },
      required: ['country', 'code'],
      if: { properties: { country: { const: 'US' } } },
      then: { properties: { code: { pattern: '^\\d{5}$' } } },
      else: { properties: { code: { pattern: '^\\d{4} [A-Z]{2}$' } } },
    },
  ],
  [
    'dependents',
    {
      type: 'object',
      properties: { card: { type: 'integer' }, address: word },
      required: ['card'],
      additionalProperties: false,
      dependentRequired: { card: ['address'] },
      dependentSchemas: { card: { properties: { address: { minLength: 25 } } } },
    },
  ],
  ['not', closed({ a: { not: { type: 'string' } }, b: { type: 'string', not: { enum: ['river'] } } })],
  ['required without properties', { type: 'object', required: ['a', 'b'] }],
  [
    'no type',
    {
      properties: { a: { minimum: 3 }, b: { items: word }, c: { pattern: '^z' }, d: {}, e: true },
      required: ['a', 'b', 'c', 'd', 'e'],
    },
  ],
  [
    'names that bite',
    closed({
      constructor: word,
      toString: { type: 'integer' },
      'a b/c~d"e': word,
      faker: word,
      template: word,
      const: word,
    }),
  ],
  [
    'keywords of other libraries',
    closed({ a: { type: 'string', faker: 'x.y', chance: 'z', template: '#{b}', jsonPath: '$.c', default: 5 } }),
  ],
  ['wide', closed(Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`property_${n}`, word])))],
  ['deep', Array.from({ length: 12 }).reduce<Schema>((inner) => closed({ inner }), word)],
  ['wide and deep, all optional', fan(6, 8)],
  [
    '$id and $schema',
    { $id: 'https://example.com/x', $schema: 'http://json-schema.org/draft-07/schema#', ...closed({ a: word }) },
  ],
].map(([name, schema]) => [name as string, addDefinitions(schema as Schema)] as const);

describe('tool arguments', () => {
  it.each(SCHEMAS)('tool arguments fit a schema of %s', async (_name, schema) => {
    const validate = compile(schema);
    const values = await Promise.all(Array.from({ length: 12 }, (_, index) => callTool(schema, index + 1)));
    for (const value of values) {
      expect([validate(value), validate.errors, value]).toEqual([true, null, value]);
    }
  });

  it('tool arguments do not depend on the turns before', async () => {
    const schemas = SCHEMAS.map(([, schema]) => schema);
    const forward = await Promise.all(schemas.map((schema) => callTool(schema, 1)));
    for (let index = schemas.length - 1; index >= 0; index--) {
      expect(await callTool(schemas[index], 1)).toEqual(forward[index]);
    }
  });

  it('tool arguments leave the schema as it was', async () => {
    const schemas = JSON.stringify(SCHEMAS);
    await callTool(Object.freeze(SCHEMAS[0]?.[1]), 3);
    expect(JSON.stringify(SCHEMAS)).toBe(schemas);
  });
});

describe('structured output', () => {
  it.each(SCHEMAS)('structured output fits a schema of %s', async (_name, schema) => {
    const validate = compile(schema);
    expect([validate(await answer(schema, 5)), validate.errors]).toEqual([true, null]);
  });
});

function compile(schema: Schema): ReturnType<Ajv2020['compile']> {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, unicodeRegExp: false });
  addFormats.default(ajv);
  return ajv.compile(schema);
}

function addDefinitions(schema: Schema): Schema {
  return { ...schema, $defs: { a: closed({ b: word }), text: word, ...(schema.$defs as Schema | undefined) } };
}

function fan(breadth: number, depth: number): Schema {
  const inner = depth === 0 ? word : { $ref: `#/$defs/level${depth - 1}` };
  const names = Array.from({ length: breadth }, (_, n) => `p${n}`);
  const schema = closed(Object.fromEntries(names.map((name) => [name, inner])), []);
  if (depth === 0) return schema;
  const { $defs, ...below } = fan(breadth, depth - 1) as { $defs?: Schema };
  return { ...schema, $defs: { ...$defs, [`level${depth - 1}`]: below } };
}
