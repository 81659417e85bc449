import { describe, expect, it } from '@jest/globals';

import { closed, type Schema, word } from '../../../test/support/schemas.js';
import { compileSchema } from './schema-validator.js';
import { makeSchemaData } from './schema-data.js';

const integer = { type: 'integer' };
const patterns = { '^x-': integer };

const SCHEMAS: readonly (readonly [name: string, schema: Schema, found: unknown])[] = [
  [
    'a property that is declared, too',
    { ...closed({ 'x-a': { minimum: 7 } }), patternProperties: { '^x-': { type: 'integer', maximum: 7 } } },
    { 'x-a': 7 },
  ],
  ['a required one', { type: 'object', required: ['x-a'], patternProperties: patterns }, { 'x-a': expect.any(Number) }],
  [
    'one of several patterns',
    { type: 'object', required: ['x-a'], patternProperties: { ...patterns, a$: { minimum: 70 } } },
    { 'x-a': expect.any(Number) },
  ],
  [
    'one that another property needs',
    { ...closed({ a: word }), patternProperties: patterns, dependentRequired: { a: ['x-a'] } },
    { a: expect.any(String), 'x-a': expect.any(Number) },
  ],
  [
    'one that another part requires',
    { allOf: [{ type: 'object', required: ['x-a'] }, { patternProperties: patterns }] },
    { 'x-a': expect.any(Number) },
  ],
  [
    'one that an alternative requires',
    { type: 'object', patternProperties: patterns, anyOf: [{ required: ['x-a'] }, { required: ['x-a', 'x-b'] }] },
    expect.objectContaining({ 'x-a': expect.any(Number) }),
  ],
  [
    'one whose name is to be found',
    { type: 'object', patternProperties: { '^[A-Z]{3}$': integer }, additionalProperties: false, minProperties: 1 },
    expect.any(Object),
  ],
  [
    'none that the pattern forbids',
    { type: 'object', properties: { 'x-a': word, b: word }, required: ['b'], patternProperties: { '^x-': false } },
    { b: expect.any(String) },
  ],
];

describe('properties of patterns', () => {
  it.each(SCHEMAS)('properties of patterns are drawn as their patterns say: %s', (_name, schema, found) => {
    const validate = compileSchema(schema);
    for (let seed = 1; seed <= 12; seed++) {
      const data = makeSchemaData(schema, seed);
      expect(data).toEqual({ found: true, value: found });
      expect(data.found && validate(data.value)).toBe(true);
    }
  });
});
