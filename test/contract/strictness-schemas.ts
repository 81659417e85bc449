import { closed, type Schema, word } from '../support/schemas.js';
import type { StrictCase } from './strictness-case.js';

/** A schema that is refused in a function and in `text.format`. */
function schema(name: string, value: Schema, reason: string): readonly StrictCase[] {
  const tool = { type: 'function', name: 'get_weather', parameters: value, strict: true };
  const format = { type: 'json_schema', name: 'weather', schema: value, strict: true };
  return [
    {
      name: `${name} in a function`,
      rule: 'strict_schemas',
      body: { tools: [tool] },
      error: {
        code: 'invalid_function_parameters',
        param: 'tools[0].parameters',
        message: `Invalid schema for function 'get_weather': ${reason}`,
      },
    },
    {
      name: `${name} in text.format`,
      rule: 'strict_schemas',
      body: { text: { format } },
      error: {
        code: 'invalid_json_schema',
        param: 'text.format.schema',
        message: `Invalid schema for response_format 'weather': ${reason}`,
      },
    },
  ];
}

const OPEN = { type: 'object', properties: { a: word }, required: ['a'] };
const MUST_BE_CLOSED = "'additionalProperties' is required to be supplied and to be false.";
const MUST_BE_REQUIRED = "'required' is required to be supplied and to be an array including every key in properties.";
const NO_TYPE = "schema must have a 'type' key.";

/** Keywords outside the subset, with a value that is valid in JSON Schema. */
const KEYWORDS: readonly (readonly [keyword: string, value: unknown])[] = [
  ['oneOf', [word]],
  ['allOf', [word]],
  ['not', word],
  ['if', word],
  ['minLength', 1],
  ['uniqueItems', true],
  ['patternProperties', {}],
  ['default', 'a'],
];

/** Schemas that strict mode does not take, in functions and in `text.format`. */
export const SCHEMA_CASES: readonly StrictCase[] = [
  schema('no type', {}, `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`),
  schema(
    'a list',
    { type: 'array', items: word },
    `schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`,
  ),
  schema(
    'alternatives',
    { ...closed({}), anyOf: [closed({})] },
    "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
  ),
  schema('an open object', OPEN, `In context=(), ${MUST_BE_CLOSED}`),
  schema('a map', { ...OPEN, additionalProperties: word }, `In context=(), ${MUST_BE_CLOSED}`),
  schema(
    'no properties',
    { type: 'object', additionalProperties: false },
    'In context=(), object schema missing properties.',
  ),
  schema(
    'an optional property',
    closed({ a: word, b: word }, ['a']),
    `In context=(), ${MUST_BE_REQUIRED} Missing 'b'.`,
  ),
  schema(
    'no required',
    { type: 'object', properties: { a: word }, additionalProperties: false },
    `In context=(), ${MUST_BE_REQUIRED} Missing 'a'.`,
  ),
  schema(
    'too much required',
    closed({ a: word }, ['a', 'c']),
    `In context=(), ${MUST_BE_REQUIRED} Extra required key 'c' supplied.`,
  ),
  schema('an open object within', closed({ a: OPEN }), `In context=('properties', 'a'), ${MUST_BE_CLOSED}`),
  schema(
    'an optional property within',
    closed({ a: closed({ b: word }, []) }),
    `In context=('properties', 'a'), ${MUST_BE_REQUIRED} Missing 'b'.`,
  ),
  schema(
    'an open object that may be null',
    closed({ a: { ...OPEN, type: ['object', 'null'] } }),
    `In context=('properties', 'a'), ${MUST_BE_CLOSED}`,
  ),
  schema(
    'an open object in a list',
    closed({ a: { type: 'array', items: OPEN } }),
    `In context=('properties', 'a', 'items'), ${MUST_BE_CLOSED}`,
  ),
  schema(
    'an open object among alternatives',
    closed({ a: { anyOf: [{ type: 'null' }, OPEN] } }),
    `In context=('properties', 'a', 'anyOf', '1'), ${MUST_BE_CLOSED}`,
  ),
  schema(
    'an open object in $defs',
    { ...closed({ a: { $ref: '#/$defs/it' } }), $defs: { it: OPEN } },
    `In context=('$defs', 'it'), ${MUST_BE_CLOSED}`,
  ),
  schema(
    'a list of anything',
    closed({ a: { type: 'array' } }),
    "In context=('properties', 'a'), array schema missing items.",
  ),
  schema('a property of any type', closed({ a: {} }), `In context=('properties', 'a'), ${NO_TYPE}`),
  schema(
    'another format',
    closed({ a: { ...word, format: 'uri' } }),
    "In context=('properties', 'a'), 'uri' is not a valid format.",
  ),
  ...KEYWORDS.map(([keyword, value]) =>
    schema(
      `the keyword ${keyword}`,
      closed({ a: { ...word, [keyword]: value } }),
      `In context=('properties', 'a'), '${keyword}' is not permitted.`,
    ),
  ),
].flat();
