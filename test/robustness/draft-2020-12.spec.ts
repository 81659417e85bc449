import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { closed, type Schema, word } from '../support/schemas.js';
import { answer, callTool } from '../support/simulated-turn.js';

const SCHEMAS: readonly (readonly [name: string, schema: Schema])[] = [
  ['references to an anchor', { ...closed({ a: { $ref: '#name' } }), $defs: { name: { ...word, $anchor: 'name' } } }],
  [
    'references by the id of the schema',
    {
      $id: 'https://example.com/a',
      ...closed({ a: { $ref: 'https://example.com/a#/$defs/b' } }),
      $defs: { b: word },
    },
  ],
  [
    'references to a schema with an id of its own',
    { $id: 'https://example.com/c', ...closed({ a: { $ref: 'b' } }), $defs: { x: { $id: 'b', ...word } } },
  ],
  ['a dynamic reference', { $dynamicAnchor: 'node', ...closed({ a: word, b: { $dynamicRef: '#node' } }, ['a']) }],
  ['unevaluated properties', { allOf: [{ properties: { a: word } }], unevaluatedProperties: false, required: ['a'] }],
  ['unevaluated items', { ...closed({ a: { type: 'array', prefixItems: [word], unevaluatedItems: false } }) }],
  ['names of a pattern', map({ patternProperties: { '^[A-Z_]+$': word }, additionalProperties: false })],
  ['names of a pattern for all', map({ propertyNames: { pattern: '^[A-Z_]+$' }, additionalProperties: word })],
  ['names of a list', map({ propertyNames: { enum: ['left', 'right'] }, additionalProperties: word })],
  ['names of a length', map({ propertyNames: { maxLength: 3 }, additionalProperties: word })],
  ['names of a format', map({ propertyNames: { format: 'uuid' }, additionalProperties: word })],
  [
    'names that bring others along',
    closed({
      a: { ...closed({ b: word, c: word }, []), dependentRequired: { b: ['c'] }, minProperties: 2 },
    }),
  ],
  ['no more of a kind than allowed', closed({ a: { type: 'array', contains: word, maxContains: 1, minItems: 3 } })],
  ['a format of words that may have no spaces', templates(6)],
];

describe('a schema of draft 2020-12', () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, logger: false }));

  it.each(SCHEMAS)('arguments and structured output fit a schema of draft 2020-12: %s', async (_name, schema) => {
    const validate = ajv.compile(schema);
    for (let seed = 1; seed <= 20; seed++) {
      const values = [await callTool(schema, seed), await answer(schema, seed)];
      for (const value of values) expect([validate(value), validate.errors, value]).toEqual([true, null, value]);
    }
  });
});

function map(more: Schema): Schema {
  return closed({ a: { type: 'object', minProperties: 2, ...more } });
}

function templates(count: number): Schema {
  const template = { type: 'string', format: 'uri-template' };
  return closed(Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, template])));
}
