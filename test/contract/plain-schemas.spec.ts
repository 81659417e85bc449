import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';

import { SCRIPT_SCHEMA, TURN_SCHEMA } from '../../src/simulator/script/script-file.js';
import { surelyMatches } from '../../src/config/matches-schema.js';

const ajv = new Ajv2020({ strict: false, strictNumbers: true, logger: false });
addFormats.default(ajv, ['regex']);

/** Each keyword that is known, alone or as schemas of our files combine it. */
const SCHEMAS: readonly object[] = [
  TURN_SCHEMA,
  SCRIPT_SCHEMA,
  { type: 'integer' },
  { type: ['number', 'null'] },
  { type: 'boolean' },
  { const: true },
  { enum: ['stop', 1, null] },
  { type: 'string', minLength: 2, maxLength: 3 },
  { pattern: '^[a-z]+$' },
  { format: 'regex' },
  { minimum: 1, maximum: 7 },
  { exclusiveMinimum: 0 },
  { items: { type: 'string' }, minItems: 1, maxItems: 2, uniqueItems: true },
  { propertyNames: { pattern: '^[a-t]+$' }, minProperties: 1 },
  { dependentRequired: { text: ['calls'] } },
  { additionalProperties: { type: 'string' }, properties: { text: { type: 'number' } } },
  { anyOf: [{ required: ['text'] }, { type: 'string' }], allOf: [{ not: { required: ['error'] } }] },
  { if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'array' } },
];

const NAMES = [
  'text',
  'calls',
  'steps',
  'error',
  'name',
  'arguments',
  'input',
  'model',
  'turns',
  'delay',
  'at',
  'kind',
  'code',
  'Odd',
];

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    'a',
    'ab',
    '\u{1F600}x',
    '(',
    '\\Z',
    'a\\Z',
    'stop',
    'server_error',
    0,
    1,
    1.5,
    8,
    -1,
    NaN,
    Infinity,
    true,
    null,
    undefined,
  ),
  fc.string(),
);

const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('any'), { maxLength: 3 }), tie('object')),
  object: fc.dictionary(fc.constantFrom(...NAMES), tie('any'), { maxKeys: 3 }),
})).any;

describe('a schema that is matched without Ajv', () => {
  it.each(SCHEMAS.map((schema) => [JSON.stringify(schema).slice(0, 80), schema] as const))(
    'a schema that is matched without Ajv accepts what Ajv accepts, and nothing else: %s',
    (_, schema) => {
      const validate = ajv.compile(schema);
      fc.assert(
        fc.property(value, (given) => {
          expect(surelyMatches(schema, given)).toBe(validate(given));
        }),
        { numRuns: 500 },
      );
    },
  );

  it.each<[string, unknown]>([
    ['a text', { text: 'Hi' }],
    ['a call', { calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }],
    ['a condition', { when: { matches: '^H' }, text: ['H', 'i'] }],
    ['steps', { steps: [{ text: 'Hi' }, { delay: 1 }, { call: { name: 'f', input: '' } }, { error: 'server_error' }] }],
  ])('a schema that is matched without Ajv accepts a turn of a script with %s', (_, turn) => {
    expect(ajv.validate(TURN_SCHEMA, turn)).toBe(true);
    expect(surelyMatches(TURN_SCHEMA, turn)).toBe(true);
  });

  it.each([
    { patternProperties: {}, additionalProperties: false },
    { format: 'date-time' },
    { contains: {} },
    { const: {} },
  ])('a schema is left to Ajv with %j', (schema) => {
    for (const given of [{}, '2026-11-27T12:00:00Z', []]) {
      if (surelyMatches(schema, given)) expect(ajv.validate(schema, given)).toBe(true);
    }
    expect(surelyMatches(schema, 'const' in schema || 'patternProperties' in schema ? {} : 'x')).toBe(false);
  });
});
