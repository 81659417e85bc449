import { describe, expect, it } from '@jest/globals';
import { refusalOf } from '../../../test/support/violation-of.js';
import { validateDeleteQuery, validateItemsQuery, validateRetrieveQuery } from './index.js';

const IMAGE = 'message.input_image.image_url';
const LOGPROBS = 'message.output_text.logprobs';

describe(validateItemsQuery, () => {
  it.each<[Record<string, unknown>, object]>([
    [{}, { limit: 20, order: 'desc' }],
    [
      { limit: '100', order: 'asc', after: 'msg_1' },
      { limit: 100, order: 'asc', after: 'msg_1' },
    ],
    [{ before: 'msg_1' }, { limit: 20, order: 'desc', before: 'msg_1' }],
    [{ 'include[]': IMAGE }, { limit: 20, order: 'desc' }],
    [{ 'include[]': [IMAGE, LOGPROBS] }, { limit: 20, order: 'desc' }],
    [{ include: [IMAGE, LOGPROBS] }, { limit: 20, order: 'desc' }],
    [
      { include: `${IMAGE},${LOGPROBS}`, other: 'x' },
      { limit: 20, order: 'desc' },
    ],
    [{ include: '' }, { limit: 20, order: 'desc' }],
  ])('validateItemsQuery reads %j', (query, parameters) => {
    expect(validateItemsQuery(query)).toEqual(parameters);
  });

  it.each<[Record<string, unknown>, string, string, string]>([
    [
      { limit: '0' },
      'integer_below_min_value',
      'limit',
      "Invalid 'limit': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      { limit: '101' },
      'integer_above_max_value',
      'limit',
      "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 instead.",
    ],
    [
      { limit: '1.5' },
      'invalid_type',
      'limit',
      "Invalid type for 'limit': expected an integer, but got a decimal instead.",
    ],
    [
      { limit: 'many' },
      'invalid_type',
      'limit',
      "Invalid type for 'limit': expected an integer, but got a string instead.",
    ],
    [
      { limit: ['1', '2'] },
      'invalid_type',
      'limit',
      "Invalid type for 'limit': expected an integer, but got an array instead.",
    ],
    [{ order: 'up' }, 'invalid_value', 'order', "Invalid value: 'up'. Supported values are: 'asc' and 'desc'."],
    [
      { after: '' },
      'string_below_min_length',
      'after',
      "Invalid 'after': string too short. Expected a string with minimum length 1, but got an empty string instead.",
    ],
    [
      { after: ['a', 'b'] },
      'invalid_type',
      'after',
      "Invalid type for 'after': expected a string, but got an array instead.",
    ],
    [
      { before: '' },
      'string_below_min_length',
      'before',
      "Invalid 'before': string too short. Expected a string with minimum length 1, but got an empty string instead.",
    ],
    [
      { after: 'msg_1', before: 'msg_2' },
      'mutually_exclusive_parameters',
      'before',
      "Mutually exclusive parameters: 'after' and 'before'. A page begins or ends at a cursor, not both.",
    ],
  ])('validateItemsQuery refuses %j', (query, code, param, message) => {
    expect(refusalOf(() => validateItemsQuery(query))).toEqual([400, code, param, message]);
  });

  it('validateItemsQuery names the element of include that it does not know', () => {
    expect(refusalOf(() => validateItemsQuery({ include: [IMAGE, 'x'] }))).toContain('include[1]');
  });
});

describe(validateRetrieveQuery, () => {
  it.each<[Record<string, unknown>, object]>([
    [{}, { stream: false, include: [] }],
    [
      { stream: 'true', starting_after: '0', include_obfuscation: 'false', 'include[]': IMAGE },
      { stream: true, starting_after: 0, include_obfuscation: false, include: [IMAGE] },
    ],
  ])('validateRetrieveQuery reads %j', (query, parameters) => {
    expect(validateRetrieveQuery(query)).toEqual(parameters);
  });

  it.each<[Record<string, unknown>, string | null, string, string]>([
    [
      { stream: 'yes' },
      'invalid_type',
      'stream',
      "Invalid type for 'stream': expected a boolean, but got a string instead.",
    ],
    [
      { starting_after: 'x' },
      'invalid_type',
      'starting_after',
      "Invalid type for 'starting_after': expected an integer, but got a string instead.",
    ],
    [
      { starting_after: '-1' },
      'integer_below_min_value',
      'starting_after',
      "Invalid 'starting_after': integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      { include_obfuscation: '1' },
      'invalid_type',
      'include_obfuscation',
      "Invalid type for 'include_obfuscation': expected a boolean, but got a string instead.",
    ],
    [
      { include_obfuscation: 'false', stream: 'false' },
      null,
      'include_obfuscation',
      "'include_obfuscation' is only allowed when 'stream' is true.",
    ],
    [{ starting_after: '0' }, null, 'starting_after', "'starting_after' is only allowed when 'stream' is true."],
  ])('validateRetrieveQuery refuses %j', (query, code, param, message) => {
    expect(refusalOf(() => validateRetrieveQuery(query))).toEqual([400, code, param, message]);
  });
});

describe(validateDeleteQuery, () => {
  it.each<[Record<string, unknown>, object]>([
    [{}, { cascade: false }],
    [{ cascade: 'false' }, { cascade: false }],
    [{ cascade: 'true', other: 'x' }, { cascade: true }],
  ])('validateDeleteQuery reads %j', (query, parameters) => {
    expect(validateDeleteQuery(query)).toEqual(parameters);
  });

  it.each(['', '1', 'yes', 'TRUE', ['true', 'true']])('validateDeleteQuery refuses %j', (cascade) => {
    const kind = Array.isArray(cascade) ? 'an array' : 'a string';
    const message = `Invalid type for 'cascade': expected a boolean, but got ${kind} instead.`;
    expect(refusalOf(() => validateDeleteQuery({ cascade }))).toEqual([400, 'invalid_type', 'cascade', message]);
  });
});
