import { describe, expect, it } from '@jest/globals';

import { makeSchemaData } from './schema-data.js';

type Schema = Readonly<Record<string, unknown>>;

/** Thirty definitions, each twice the next: a billion branches. */
function double(keyword: 'anyOf' | 'oneOf' | 'allOf', wrap: (next: Schema) => Schema, last: Schema): Schema {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => {
      const next = index === 29 ? last : wrap({ $ref: `#/$defs/d${index + 1}` });
      return [`d${index}`, { [keyword]: [next, next] }];
    }),
  );
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, required: ['a'], $defs };
}

const inPlace = (next: Schema): Schema => next;
const inside = (next: Schema): Schema => ({ type: 'object', properties: { next }, required: ['next'] });

describe('alternatives that multiply', () => {
  it.each([
    ['anyOf in place', double('anyOf', inPlace, { type: 'integer' })],
    ['oneOf in place', double('oneOf', inPlace, { type: 'integer' })],
    ['allOf in place', double('allOf', inPlace, { type: 'integer' })],
    ['anyOf that nothing fits', double('anyOf', inPlace, { type: 'integer', minimum: 2, maximum: 1 })],
    ['anyOf of objects', double('anyOf', inside, { type: 'integer' })],
    ['oneOf of objects', double('oneOf', inside, { type: 'integer' })],
  ])('alternatives that multiply are counted, and refused for what they are: %s', (_name, schema) => {
    const data = makeSchemaData(schema, 1);
    expect(data).toMatchObject({ found: false });
    expect(data).not.toMatchObject({ reason: expect.stringMatching(/time|script|stack/i) });
    expect(data).toMatchObject({ reason: expect.stringContaining('too ') });
  });

  it('alternatives are no obstacle where they do not multiply', () => {
    const kinds = Array.from({ length: 20 }, (_, index) => ({
      type: 'object',
      properties: { kind: { const: `k${index}` }, left: { $ref: '#/$defs/node' }, right: { $ref: '#/$defs/node' } },
      required: ['kind', 'left', 'right'],
      additionalProperties: false,
    }));
    const $defs = { node: { anyOf: [...kinds, { type: 'string' }] } };
    const schema = { type: 'object', properties: { root: { $ref: '#/$defs/node' } }, required: ['root'], $defs };
    for (let seed = 1; seed <= 10; seed++) expect(makeSchemaData(schema, seed)).toMatchObject({ found: true });
  });
});

describe('what may be endless', () => {
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`);

  it.each<[string, Schema]>([
    ['contained items', { type: 'array', contains: { type: 'string' }, minContains: 1e9 }],
    ['properties that are not declared', { type: 'object', required: names, additionalProperties: { $ref: '#' } }],
    ['properties of a pattern', { type: 'object', required: names, patternProperties: { '^p': { $ref: '#' } } }],
  ])('a schema that may be endless is refused before it is drawn: %s', (_name, schema) => {
    expect(makeSchemaData(schema, 1)).toMatchObject({ found: false });
  });

  it('an optional property may be endless, and is left out', () => {
    const huge = { type: 'array', items: { type: 'string' }, minItems: 1e9 };
    const schema = { type: 'object', properties: { a: { type: 'integer' }, huge }, required: ['a'] };
    expect(makeSchemaData(schema, 1)).toEqual({ found: true, value: { a: expect.any(Number) } });
  });
});

describe('names of every object', () => {
  it.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
    'names of every object are not inherited: %s',
    (name) => {
      const schema = {
        type: 'object',
        required: [name],
        properties: Object.fromEntries([[name, { type: 'integer' }]]),
      };
      const data = makeSchemaData(schema, 1);
      expect(data.found && Object.getOwnPropertyDescriptor(data.value, name)?.value).toEqual(expect.any(Number));
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    },
  );

  it('names of every object may be required, excluded, referred to and matched', () => {
    const schema: unknown = JSON.parse(`{
      "type": "object", "additionalProperties": false, "required": ["__proto__", "also"],
      "properties": { "__proto__": { "type": "string", "enum": ["__proto__"] }, "also": { "$ref": "#/properties/__proto__" } },
      "propertyNames": { "pattern": "^(__proto__|also)$" }
    }`);
    const data = makeSchemaData(schema, 1);
    expect(JSON.stringify(data)).toBe('{"found":true,"value":{"__proto__":"__proto__","also":"__proto__"}}');
  });
});
