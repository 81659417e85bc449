import { describe, expect, it } from '@jest/globals';
import { violationOf } from '../../../test/support/violation-of.js';

const body = { model: 'm', input: 'hi' };

describe('the fields of a request', () => {
  it.each<[object, string, string, string]>([
    [
      { max_output_tokens: 0 },
      'integer_below_min_value',
      'max_output_tokens',
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 0 instead.",
    ],
    [
      { max_output_tokens: 16.5 },
      'invalid_type',
      'max_output_tokens',
      "Invalid type for 'max_output_tokens': expected an integer, but got a decimal instead.",
    ],
    [
      { max_output_tokens: 1e30 },
      'integer_above_max_value',
      'max_output_tokens',
      "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 9007199254740991, but got 1e+30 instead.",
    ],
    [
      { max_tool_calls: 1e30 },
      'integer_above_max_value',
      'max_tool_calls',
      "Invalid 'max_tool_calls': integer above maximum value. Expected a value <= 9007199254740991, but got 1e+30 instead.",
    ],
    [
      { max_tool_calls: 0 },
      'integer_below_min_value',
      'max_tool_calls',
      "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      { temperature: '1' },
      'invalid_type',
      'temperature',
      "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    ],
    [
      { temperature: 3 },
      'decimal_above_max_value',
      'temperature',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      { top_p: -0.1 },
      'decimal_below_min_value',
      'top_p',
      "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -0.1 instead.",
    ],
    [
      { top_p: JSON.parse('1e999') as number },
      'invalid_type',
      'top_p',
      "Invalid type for 'top_p': expected a decimal, but got a number out of range instead.",
    ],
    [
      { presence_penalty: -3 },
      'decimal_below_min_value',
      'presence_penalty',
      "Invalid 'presence_penalty': decimal below minimum value. Expected a value >= -2, but got -3 instead.",
    ],
    [
      { frequency_penalty: 3 },
      'decimal_above_max_value',
      'frequency_penalty',
      "Invalid 'frequency_penalty': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      { top_logprobs: 21 },
      'integer_above_max_value',
      'top_logprobs',
      "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 instead.",
    ],
    [
      { metadata: [] },
      'invalid_type',
      'metadata',
      "Invalid type for 'metadata': expected a metadata object, but got an array instead.",
    ],
    [
      { metadata: { a: 1 } },
      'invalid_type',
      'metadata.a',
      "Invalid type for 'metadata.a': expected a string, but got an integer instead.",
    ],
    [
      JSON.parse('{"metadata":{"__proto__":1}}') as object,
      'invalid_type',
      'metadata.__proto__',
      "Invalid type for 'metadata.__proto__': expected a string, but got an integer instead.",
    ],
    [
      { metadata: { a: 'x'.repeat(513) } },
      'string_above_max_length',
      'metadata.a',
      "Invalid 'metadata.a': string too long. Expected a string with maximum length 512, but got a string with length 513 instead.",
    ],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) },
      'object_above_max_properties',
      'metadata',
      "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with 17 properties instead.",
    ],
    [
      { include: 'all' },
      'invalid_type',
      'include',
      "Invalid type for 'include': expected an array, but got a string instead.",
    ],
    [
      { truncation: 'on' },
      'invalid_value',
      'truncation',
      "Invalid value: 'on'. Supported values are: 'auto' and 'disabled'.",
    ],
    [
      { truncation: 1 },
      'invalid_type',
      'truncation',
      "Invalid type for 'truncation': expected one of 'auto' or 'disabled', but got an integer instead.",
    ],
    [
      { service_tier: 'turbo' },
      'invalid_value',
      'service_tier',
      "Invalid value: 'turbo'. Supported values are: 'auto', 'default', 'flex', 'scale', 'priority', 'fast', and 'ultrafast'.",
    ],
    [
      { reasoning: { effort: 'huge' } },
      'invalid_value',
      'reasoning.effort',
      "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    ],
    [
      { reasoning: { summary: true } },
      'invalid_type',
      'reasoning.summary',
      "Invalid type for 'reasoning.summary': expected one of 'auto', 'concise', or 'detailed', but got a boolean instead.",
    ],
    [
      { reasoning: { context: 'some' } },
      'invalid_value',
      'reasoning.context',
      "Invalid value: 'some'. Supported values are: 'auto', 'current_turn', and 'all_turns'.",
    ],
    [
      { safety_identifier: 'x'.repeat(129) },
      'string_above_max_length',
      'safety_identifier',
      "Invalid 'safety_identifier': string too long. Expected a string with maximum length 128, but got a string with length 129 instead.",
    ],
    [{ user: 5 }, 'invalid_type', 'user', "Invalid type for 'user': expected a string, but got an integer instead."],
    [
      { stream: 'true' },
      'invalid_type',
      'stream',
      "Invalid type for 'stream': expected a boolean, but got a string instead.",
    ],
    [
      { stream_options: { include_obfuscation: 1 } },
      'invalid_type',
      'stream_options.include_obfuscation',
      "Invalid type for 'stream_options.include_obfuscation': expected a boolean, but got an integer instead.",
    ],
    [
      { previous_response_id: '' },
      'invalid_id_prefix',
      'previous_response_id',
      "Invalid 'previous_response_id': ''. Expected an ID that begins with 'resp'.",
    ],
    [
      { previous_response_id: 'gen-123' },
      'invalid_id_prefix',
      'previous_response_id',
      "Invalid 'previous_response_id': 'gen-123'. Expected an ID that begins with 'resp'.",
    ],
    [
      { previous_response_id: 'resp_ä' },
      'invalid_value',
      'previous_response_id',
      "Invalid 'previous_response_id': 'resp_ä'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
    ],
    [
      { conversation: 5 },
      'invalid_type',
      'conversation',
      "Invalid type for 'conversation': expected one of a string or object, but got an integer instead.",
    ],
    [
      { conversation: '' },
      'invalid_id_prefix',
      'conversation',
      "Invalid 'conversation': ''. Expected an ID that begins with 'conv'.",
    ],
    [
      { conversation: { id: 'resp_1' } },
      'invalid_id_prefix',
      'conversation.id',
      "Invalid 'conversation.id': 'resp_1'. Expected an ID that begins with 'conv'.",
    ],
    [
      { conversation: {} },
      'missing_required_parameter',
      'conversation.id',
      "Missing required parameter: 'conversation.id'.",
    ],
    [
      { conversation: 'conv_ä' },
      'invalid_value',
      'conversation',
      "Invalid 'conversation': 'conv_ä'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
    ],
    [
      { context_management: [{ type: 'compaction', compact_threshold: 999 }] },
      'integer_below_min_value',
      'context_management[0].compact_threshold',
      "Invalid 'context_management[0].compact_threshold': integer below minimum value. Expected a value >= 1000, but got 999 instead.",
    ],
    [
      { context_management: [] },
      'empty_array',
      'context_management',
      "Invalid 'context_management': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ],
    [
      { context_management: [{ type: 'compaction' }, { type: 'compaction', compact_threshold: 2000 }] },
      'array_above_max_length',
      'context_management',
      "Invalid 'context_management': array too long. Expected an array with maximum length 1, but got an array with length 2 instead.",
    ],
    [
      { input: 'x'.repeat(10_485_761) },
      'string_above_max_length',
      'input',
      "Invalid 'input': string too long. Expected a string with maximum length 10485760, but got a string with length 10485761 instead.",
    ],
  ])('a wrong field of a request is refused: case %#', (members, code, param, message) => {
    expect(violationOf({ ...body, ...members })).toEqual([400, code, param, message]);
  });

  it('the error of include names all that it supports', () => {
    const include = ['reasoning.encrypted_content', 'everything'];
    const [status, code, param, message] = violationOf({ ...body, include }) as unknown[];
    expect([status, code, param]).toEqual([400, 'invalid_value', 'include[1]']);
    expect(message).toMatch(
      /^Invalid value: 'everything'. Supported values are: 'file_search_call.results', .+, and '/,
    );
  });

  it.each([
    { temperature: 0, top_p: 1, presence_penalty: 2, frequency_penalty: -2, top_logprobs: 20, max_output_tokens: 16 },
    {
      metadata: Object.fromEntries(
        Array.from({ length: 16 }, (_, index) => ['k'.repeat(62) + String(index + 10), 'v'.repeat(512)]),
      ),
    },
    { metadata: JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as unknown },
    { safety_identifier: 'x'.repeat(128), prompt_cache_key: 'x'.repeat(1000), user: '' },
    { previous_response_id: 'resp_x', input: [] },
    { previous_response_id: 'resp_x', input: '' },
    { access_programs: { cyber: 'standard' }, image: { context_compression: 'auto' }, prompt_cache_retention: '24h' },
  ])('the fields of a request accept case %#', (members) => {
    expect(violationOf({ ...body, ...members }, 'reject')).toBeNull();
  });

  it('null stands for the default of every field but model', () => {
    const names =
      'include instructions max_output_tokens max_tool_calls metadata parallel_tool_calls previous_response_id store stream stream_options temperature text tool_choice tools top_logprobs top_p presence_penalty frequency_penalty truncation user safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention service_tier reasoning background conversation prompt context_management moderation access_programs image client_metadata';
    const nulls = Object.fromEntries(names.split(' ').map((name) => [name, null]));
    expect(violationOf({ ...nulls, ...body }, 'reject')).toBeNull();
  });
});
