import { describe, expect, it } from '@jest/globals';
import { violationOf } from '../../../test/support/violation-of.js';

const body = { model: 'm', input: 'hi' };
const parameters = { type: 'object', properties: {}, additionalProperties: false };
const lookup = { type: 'function', name: 'lookup', parameters, strict: true };
const docs = { type: 'mcp', server_label: 'docs', server_url: 'https://example.com' };

describe('tools', () => {
  it.each<[unknown, string, string, string]>([
    [{}, 'invalid_type', 'tools', "Invalid type for 'tools': expected an array of tools, but got an object instead."],
    [['f'], 'invalid_type', 'tools[0]', "Invalid type for 'tools[0]': expected an object, but got a string instead."],
    [[lookup, {}], 'missing_required_parameter', 'tools[1].type', "Missing required parameter: 'tools[1].type'."],
    [
      [{ type: 7 }],
      'invalid_type',
      'tools[0].type',
      "Invalid type for 'tools[0].type': expected a string, but got an integer instead.",
    ],
    [
      [{ type: 'function', function: { name: 'f' } }],
      'missing_required_parameter',
      'tools[0].name',
      "Missing required parameter: 'tools[0].name'.",
    ],
    [
      [{ ...lookup, name: 'a b' }],
      'invalid_value',
      'tools[0].name',
      "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ],
    [
      [{ ...lookup, name: 'x'.repeat(129) }],
      'string_above_max_length',
      'tools[0].name',
      "Invalid 'tools[0].name': string too long. Expected a string with maximum length 128, but got a string with length 129 instead.",
    ],
    [
      [lookup, lookup, { ...lookup, parameters: [] }],
      'invalid_type',
      'tools[2].parameters',
      "Invalid type for 'tools[2].parameters': expected an object, but got an array instead.",
    ],
    [
      [lookup, lookup, { ...lookup, async: 'no', allowed_callers: 'all', parameters: [] }],
      'invalid_type',
      'tools[2].parameters',
      "Invalid type for 'tools[2].parameters': expected an object, but got an array instead.",
    ],
    [
      [{ ...lookup, strict: 'yes' }],
      'invalid_type',
      'tools[0].strict',
      "Invalid type for 'tools[0].strict': expected a boolean, but got a string instead.",
    ],
    [
      [{ type: 'custom' }],
      'missing_required_parameter',
      'tools[0].name',
      "Missing required parameter: 'tools[0].name'.",
    ],
    [
      [{ type: 'namespace', name: 'n' }],
      'missing_required_parameter',
      'tools[0].tools',
      "Missing required parameter: 'tools[0].tools'.",
    ],
    [
      [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }],
      'missing_required_parameter',
      'tools[0].tools[0].name',
      "Missing required parameter: 'tools[0].tools[0].name'.",
    ],
    [
      [{ type: 'mcp' }],
      'missing_required_parameter',
      'tools[0].server_label',
      "Missing required parameter: 'tools[0].server_label'.",
    ],
    [
      [{ ...docs, require_approval: 'Always' }],
      'invalid_value',
      'tools[0].require_approval',
      "Invalid value: 'Always'. Supported values are: 'always' and 'never'.",
    ],
    [
      [{ ...docs, require_approval: { nevr: { tool_names: ['a'] } } }],
      'unknown_parameter',
      'tools[0].require_approval.nevr',
      "Unknown parameter: 'tools[0].require_approval.nevr'. Did you mean 'never'?",
    ],
    [
      [{ ...docs, require_approval: { never: { tool_names: 'undelete' } } }],
      'invalid_type',
      'tools[0].require_approval.never.tool_names',
      "Invalid type for 'tools[0].require_approval.never.tool_names': expected an array, but got a string instead.",
    ],
    [
      [{ ...docs, allowed_tools: 'search' }],
      'invalid_type',
      'tools[0].allowed_tools',
      "Invalid type for 'tools[0].allowed_tools': expected one of an array of strings or object, but got a string instead.",
    ],
    [
      [{ ...docs, allowed_tools: ['search', 7] }],
      'invalid_type',
      'tools[0].allowed_tools[1]',
      "Invalid type for 'tools[0].allowed_tools[1]': expected a string, but got an integer instead.",
    ],
    [
      [{ ...docs, allowed_tools: { names: ['search'] } }],
      'unknown_parameter',
      'tools[0].allowed_tools.names',
      "Unknown parameter: 'tools[0].allowed_tools.names'.",
    ],
    [
      [{ ...docs, allowed_tools: { read_only: 'true' } }],
      'invalid_type',
      'tools[0].allowed_tools.read_only',
      "Invalid type for 'tools[0].allowed_tools.read_only': expected a boolean, but got a string instead.",
    ],
    [
      [{ type: 'code_interpreter' }],
      'missing_required_parameter',
      'tools[0].container',
      "Missing required parameter: 'tools[0].container'.",
    ],
    [
      [{ type: 'code_interpreter', container: 7 }],
      'invalid_type',
      'tools[0].container',
      "Invalid type for 'tools[0].container': expected one of a string or object, but got an integer instead.",
    ],
    [
      [{ type: 'code_interpreter', container: { file_ids: [] } }],
      'missing_required_parameter',
      'tools[0].container.type',
      "Missing required parameter: 'tools[0].container.type'.",
    ],
    [
      [{ ...lookup, allowed_callers: ['nobody'] }],
      'invalid_value',
      'tools[0].allowed_callers[0]',
      "Invalid value: 'nobody'. Supported values are: 'direct' and 'programmatic'.",
    ],
    [
      [{ type: 'file_search', vector_store_ids: [] }],
      'empty_array',
      'tools[0].vector_store_ids',
      "Invalid 'tools[0].vector_store_ids': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ],
    [
      [{ ...docs, connector_id: 'connector_dropbox' }],
      'mutually_exclusive_parameters',
      'tools[0].connector_id',
      "Mutually exclusive parameters: 'tools[0].server_url' and 'tools[0].connector_id'. Ensure you are only providing one of them.",
    ],
    [
      [{ type: 'file_search' }],
      'missing_required_parameter',
      'tools[0].vector_store_ids',
      "Missing required parameter: 'tools[0].vector_store_ids'.",
    ],
  ])('%j are refused', (tools, code, param, message) => {
    expect(violationOf({ ...body, tools })).toEqual([400, code, param, message]);
  });

  it.each([
    { type: 'function', name: 'f' },
    { type: 'function', name: 'f', parameters: null, strict: null, description: null },
    { type: 'web_search', external_web_access: true, search_content_types: ['text'] },
    { type: 'tool_search', execution: 'client' },
    { type: 'mcp', server_label: 'docs', server_url: 'https://example.com' },
    { type: 'mcp', server_label: 'docs', connector_id: 'connector_dropbox' },
    { type: 'mcp', server_label: 'docs', tunnel_id: 'tunnel_1' },
    { ...docs, allowed_tools: ['search'], require_approval: 'never', server_description: 'Docs.', defer_loading: true },
    { ...docs, allowed_tools: { tool_names: ['search'], read_only: null }, require_approval: null },
    { ...docs, allowed_tools: { read_only: true }, require_approval: { always: { tool_names: ['x'] }, never: {} } },
    { type: 'code_interpreter', container: 'cntr_1' },
    { type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { ...lookup, allowed_callers: ['direct', 'programmatic'] },
    { type: 'constructor' },
    { type: 'not_invented_yet', name: 7 },
  ])('%j is accepted', (tool) => {
    expect(violationOf({ ...body, tools: [tool] }, 'reject')).toBeNull();
  });
});

describe('an MCP tool', () => {
  it('an MCP tool has no misspelt members', () => {
    const tools = [{ ...docs, require_aproval: 'always' }];
    const message = "Unknown parameter: 'tools[0].require_aproval'. Did you mean 'require_approval'?";
    const refused = [400, 'unknown_parameter', 'tools[0].require_aproval', message];
    expect(violationOf({ ...body, tools }, 'reject')).toEqual(refused);
    expect(
      violationOf({ ...body, tools: [{ ...docs, headers: { a: 'b' }, authorization: 'c' }] }, 'reject'),
    ).toBeNull();
  });
});

describe('tool_choice', () => {
  const namespace = { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'inner' }] };
  const tools = [
    lookup,
    namespace,
    { type: 'mcp', server_label: 'docs', server_url: 'https://example.com' },
    { type: 'web_search' },
  ];

  it.each<[unknown, string, string, string]>([
    [
      'always',
      'invalid_value',
      'tool_choice',
      "Invalid value: 'always'. Supported values are: 'none', 'auto', and 'required'.",
    ],
    [
      5,
      'invalid_type',
      'tool_choice',
      "Invalid type for 'tool_choice': expected one of a string or object, but got an integer instead.",
    ],
    [{}, 'missing_required_parameter', 'tool_choice.type', "Missing required parameter: 'tool_choice.type'."],
    [
      { type: 'function', function: { name: 'lookup' } },
      'missing_required_parameter',
      'tool_choice.name',
      "Missing required parameter: 'tool_choice.name'.",
    ],
    [
      { type: 'allowed_tools', mode: 'none', tools: [] },
      'invalid_value',
      'tool_choice.mode',
      "Invalid value: 'none'. Supported values are: 'auto' and 'required'.",
    ],
    [
      { type: 'allowed_tools', mode: 'auto', tools: ['lookup'] },
      'invalid_type',
      'tool_choice.tools[0]',
      "Invalid type for 'tool_choice.tools[0]': expected an object, but got a string instead.",
    ],
  ])('%j is refused', (choice, code, param, message) => {
    expect(violationOf({ ...body, tools, tool_choice: choice })).toEqual([400, code, param, message]);
  });

  it.each<[object, string]>([
    [{ type: 'function', name: 'absent' }, 'absent'],
    [{ type: 'custom', name: 'lookup' }, 'lookup'],
    [{ type: 'code_interpreter' }, 'code_interpreter'],
    [{ type: 'constructor' }, 'constructor'],
    [{ type: 'mcp', server_label: 'other' }, 'other'],
    [{ type: 'allowed_tools', mode: 'auto', tools: [lookup, { type: 'function', name: 'absent' }] }, 'absent'],
  ])('%j names an absent tool', (choice, label) => {
    const message = `Tool choice '${label}' not found in 'tools' parameter.`;
    const request = { ...body, tools, tool_choice: choice };
    expect(violationOf(request)).toEqual([400, null, 'tool_choice', message]);
    expect(violationOf({ ...request, previous_response_id: 'resp_1' })).toBeNull();
    expect(violationOf({ ...request, input: [{ type: 'additional_tools', role: 'developer', tools: [] }] })).toBeNull();
  });

  it.each([
    'none',
    'auto',
    'required',
    { type: 'function', name: 'lookup' },
    { type: 'custom', name: 'inner' },
    { type: 'mcp', server_label: 'docs', name: 'search' },
    { type: 'mcp' },
    { type: 'web_search_preview' },
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'lookup' }, { type: 'web_search' }] },
  ])('%j is accepted', (choice) => {
    expect(violationOf({ ...body, tools, tool_choice: choice }, 'reject')).toBeNull();
  });
});
