import { describe, expect, it } from '@jest/globals';
import { violationOf } from '../../../test/support/violation-of.js';

describe('the items of input', () => {
  it.each<[unknown, string, string, string]>([
    [null, 'invalid_type', 'input[1]', "Invalid type for 'input[1]': expected an object, but got null instead."],
    ['hi', 'invalid_type', 'input[1]', "Invalid type for 'input[1]': expected an object, but got a string instead."],
    [[], 'invalid_type', 'input[1]', "Invalid type for 'input[1]': expected an object, but got an array instead."],
    [{}, 'missing_required_parameter', 'input[1].role', "Missing required parameter: 'input[1].role'."],
    [
      { type: 5 },
      'invalid_type',
      'input[1].type',
      "Invalid type for 'input[1].type': expected a string, but got an integer instead.",
    ],
    [
      { role: 'tool', content: '' },
      'invalid_value',
      'input[1]',
      "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ],
    [
      { role: 'constructor', content: '' },
      'invalid_value',
      'input[1]',
      "Invalid value: 'constructor'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ],
    [
      { role: null, content: '' },
      'invalid_type',
      'input[1].role',
      "Invalid type for 'input[1].role': expected a string, but got null instead.",
    ],
    [
      { role: 'user' },
      'missing_required_parameter',
      'input[1].content',
      "Missing required parameter: 'input[1].content'.",
    ],
    [
      { role: 'user', content: null },
      'invalid_type',
      'input[1].content',
      "Invalid type for 'input[1].content': expected one of an array of objects or string, but got null instead.",
    ],
    [
      { role: 'user', content: ['hi'] },
      'invalid_type',
      'input[1].content[0]',
      "Invalid type for 'input[1].content[0]': expected an object, but got a string instead.",
    ],
    [
      { role: 'user', content: [{ text: 'hi' }] },
      'missing_required_parameter',
      'input[1].content[0].type',
      "Missing required parameter: 'input[1].content[0].type'.",
    ],
    [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      'invalid_value',
      'input[1].content[0]',
      "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and 'input_audio'.",
    ],
    [
      { role: 'user', content: [{ type: '__proto__' }] },
      'invalid_value',
      'input[1].content[0]',
      "Invalid value: '__proto__'. Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and 'input_audio'.",
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: '' },
          { type: 'input_text', text: null },
        ],
      },
      'invalid_type',
      'input[1].content[1].text',
      "Invalid type for 'input[1].content[1].text': expected a string, but got null instead.",
    ],
    [
      { role: 'user', content: [{ type: 'input_image', image_url: { url: 'x' } }] },
      'invalid_type',
      'input[1].content[0].image_url',
      "Invalid type for 'input[1].content[0].image_url': expected a string, but got an object instead.",
    ],
    [
      { role: 'assistant', content: [{ type: 'input_text', text: '' }] },
      'invalid_value',
      'input[1].content[0]',
      "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ],
    [
      { role: 'user', content: [{ type: 'output_text', text: '' }] },
      'invalid_value',
      'input[1].content[0]',
      "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and 'input_audio'.",
    ],
    [
      { role: 'assistant', content: '', status: 'done' },
      'invalid_value',
      'input[1].status',
      "Invalid value: 'done'. Supported values are: 'in_progress', 'completed', and 'incomplete'.",
    ],
    [
      { role: 'user', content: '', id: '' },
      'string_below_min_length',
      'input[1].id',
      "Invalid 'input[1].id': string too short. Expected a string with minimum length 1, but got an empty string instead.",
    ],
    [
      { type: 'never_heard_of', id: 'x'.repeat(257) },
      'string_above_max_length',
      'input[1].id',
      "Invalid 'input[1].id': string too long. Expected a string with maximum length 256, but got a string with length 257 instead.",
    ],
    [
      { type: 'web_search_call', id: 5 },
      'invalid_type',
      'input[1].id',
      "Invalid type for 'input[1].id': expected a string, but got an integer instead.",
    ],
    [
      { type: 'function_call', name: 'f', arguments: '{}' },
      'missing_required_parameter',
      'input[1].call_id',
      "Missing required parameter: 'input[1].call_id'.",
    ],
    [
      { type: 'function_call', call_id: '', name: 'f', arguments: '{}' },
      'string_below_min_length',
      'input[1].call_id',
      "Invalid 'input[1].call_id': string too short. Expected a string with minimum length 1, but got an empty string instead.",
    ],
    [
      { type: 'function_call', call_id: 'x'.repeat(65), name: 'f', arguments: '{}' },
      'string_above_max_length',
      'input[1].call_id',
      "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    ],
    [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: {} },
      'invalid_type',
      'input[1].arguments',
      "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
    ],
    [
      { type: 'function_call_output', call_id: 'c' },
      'missing_required_parameter',
      'input[1].output',
      "Missing required parameter: 'input[1].output'.",
    ],
    [
      { type: 'function_call_output', call_id: 'c', output: {} },
      'invalid_type',
      'input[1].output',
      "Invalid type for 'input[1].output': expected one of an array of objects or string, but got an object instead.",
    ],
    [
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'output_text', text: '' }] },
      'invalid_value',
      'input[1].output[0]',
      "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
    ],
    [
      { type: 'custom_tool_call', call_id: 'c', name: 'f' },
      'missing_required_parameter',
      'input[1].input',
      "Missing required parameter: 'input[1].input'.",
    ],
    [
      { type: 'custom_tool_call_output', call_id: null, output: '' },
      'invalid_type',
      'input[1].call_id',
      "Invalid type for 'input[1].call_id': expected a string, but got null instead.",
    ],
    [
      { type: 'reasoning', id: 'rs_1' },
      'missing_required_parameter',
      'input[1].summary',
      "Missing required parameter: 'input[1].summary'.",
    ],
    [
      { type: 'reasoning', summary: ['thought'] },
      'invalid_type',
      'input[1].summary[0]',
      "Invalid type for 'input[1].summary[0]': expected an object, but got a string instead.",
    ],
    [
      { type: 'compaction' },
      'missing_required_parameter',
      'input[1].encrypted_content',
      "Missing required parameter: 'input[1].encrypted_content'.",
    ],
    [
      { type: 'additional_tools', tools: [{}] },
      'missing_required_parameter',
      'input[1].tools[0].type',
      "Missing required parameter: 'input[1].tools[0].type'.",
    ],
    [
      { type: 'item_reference' },
      'missing_required_parameter',
      'input[1].id',
      "Missing required parameter: 'input[1].id'.",
    ],
    [
      { type: 'mcp_approval_response', approval_request_id: { toString: 1 }, approve: true },
      'invalid_type',
      'input[1].approval_request_id',
      "Invalid type for 'input[1].approval_request_id': expected a string, but got an object instead.",
    ],
    [
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: 'true' },
      'invalid_type',
      'input[1].approve',
      "Invalid type for 'input[1].approve': expected a boolean, but got a string instead.",
    ],
    [
      { type: 'mcp_call', server_label: { toString: 1 }, name: 'n', arguments: '{}' },
      'invalid_type',
      'input[1].server_label',
      "Invalid type for 'input[1].server_label': expected a string, but got an object instead.",
    ],
    [
      { type: 'mcp_approval_request', server_label: 's', name: ['n'], arguments: '{}' },
      'invalid_type',
      'input[1].name',
      "Invalid type for 'input[1].name': expected a string, but got an array instead.",
    ],
    [
      { type: 'mcp_list_tools', server_label: 's', tools: {} },
      'invalid_type',
      'input[1].tools',
      "Invalid type for 'input[1].tools': expected an array, but got an object instead.",
    ],
  ])('%j is refused', (item, code, param, message) => {
    const request = { model: 'm', input: [{ role: 'user', content: 'hi' }, item] };
    expect(violationOf(request)).toEqual([400, code, param, message]);
  });

  it.each([
    { type: 'never_heard_of', whatever: [1, { a: null }] },
    { type: 'constructor' },
    { type: '__proto__' },
    { role: 'user', content: [] },
    { role: 'user', content: [{ type: 'input_audio', audio_url: 'data:' }, { type: 'scoped_content' }] },
    {
      role: 'user',
      content: [
        { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf', file_id: null },
      ],
    },
    { type: 'function_call_output', call_id: null, output: '', name: 'f' },
    { type: 'web_search_call' },
    { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
  ])('%j is accepted', (item) => {
    expect(violationOf({ model: 'm', input: [item] })).toBeNull();
  });
});
