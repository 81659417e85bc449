import { describe, expect, it } from '@jest/globals';
import { violationOf } from '../../../test/support/violation-of.js';

const body = { model: 'm', input: 'hi' };
const schemaFormat = { type: 'json_schema', name: 'answer', schema: { type: 'object' } };

describe('text', () => {
  it.each<[object, string, string, string]>([
    [
      { text: 'plain' },
      'invalid_type',
      'text',
      "Invalid type for 'text': expected an object, but got a string instead.",
    ],
    [
      { text: { verbosity: 'huge' } },
      'invalid_value',
      'text.verbosity',
      "Invalid value: 'huge'. Supported values are: 'low', 'medium', and 'high'.",
    ],
    [
      { text: { format: { type: 'xml' } } },
      'invalid_value',
      'text.format',
      "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'.",
    ],
    [
      { text: { format: { type: 'json_schema', schema: {} } } },
      'missing_required_parameter',
      'text.format.name',
      "Missing required parameter: 'text.format.name'.",
    ],
    [
      { text: { format: { ...schemaFormat, name: 'a b' } } },
      'invalid_value',
      'text.format.name',
      "Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    [
      { text: { format: { ...schemaFormat, name: 'x'.repeat(65) } } },
      'string_above_max_length',
      'text.format.name',
      "Invalid 'text.format.name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    ],
    [
      { text: { format: { type: 'json_schema', name: 'a' } } },
      'missing_required_parameter',
      'text.format.schema',
      "Missing required parameter: 'text.format.schema'.",
    ],
    [
      { text: { format: { ...schemaFormat, schema: [] } } },
      'invalid_type',
      'text.format.schema',
      "Invalid type for 'text.format.schema': expected an object, but got an array instead.",
    ],
    [
      { text: { format: { ...schemaFormat, schema: { type: 'strnig' } } } },
      'invalid_json_schema',
      'text.format.schema',
      "Invalid schema for 'text.format.schema': In /type: must be equal to one of the allowed values.",
    ],
    [
      { text: { format: { ...schemaFormat, schema: { $schema: 5 } } } },
      'invalid_json_schema',
      'text.format.schema',
      "Invalid schema for 'text.format.schema': In /$schema: must be string.",
    ],
  ])('the member text refuses %j', (members, code, param, message) => {
    expect(violationOf({ ...body, ...members })).toEqual([400, code, param, message]);
  });

  it.each([
    { text: { format: { type: 'text' }, verbosity: null } },
    { text: { format: { type: 'json_object' } }, instructions: 'Answer in JSON.' },
    {
      text: {
        format: { ...schemaFormat, schema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'strnig' } },
      },
    },
    { text: { format: { ...schemaFormat, schema: { $schema: 'https://json-schema.org/draft/2020-12/schema' } } } },
    {
      text: {
        format: {
          ...schemaFormat,
          schema: { $defs: { a: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, format: 'x' },
        },
      },
    },
    { text: { format: { ...schemaFormat, schema: { type: 'string', pattern: '^[\\w\\-\\.]+\\_$' } } } },
  ])('the member text accepts %j', (members) => {
    expect(violationOf({ ...body, ...members }, 'reject')).toBeNull();
  });

  it('a hostile schema does not hang the process', () => {
    const schema = { type: Array.from({ length: 300_000 }, (_, index) => index) };
    const message =
      "Invalid schema for 'text.format.schema': more than 50000 values, the most that this server accepts.";
    const violation = violationOf({ ...body, text: { format: { ...schemaFormat, schema } } });
    expect(violation).toEqual([400, 'invalid_json_schema', 'text.format.schema', message]);
  });
});
