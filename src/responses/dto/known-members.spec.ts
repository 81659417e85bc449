import { describe, expect, it } from '@jest/globals';
import type * as Beta from 'openai/resources/beta/responses/responses';
import type * as OpenAI from 'openai/resources/responses/responses';
import type { CustomToolInputFormat, Reasoning } from 'openai/resources/shared';

import { violationOf } from '../../../test/support/violation-of.js';
import { PARAMETERS } from '../../protocol/index.js';
import { membersOf } from '../../validation/index.js';
import { CreateRequestBody } from './create-request-body.js';

/** Every member that a type of the `openai` package has: this file does not compile when a new version adds one. */
type Complete<T> = Readonly<Record<keyof T, unknown>>;

const reasoning: Complete<Reasoning & Beta.ResponseCreateParams.Reasoning> = {
  effort: 'low',
  summary: 'auto',
  generate_summary: 'auto',
  context: 'auto',
  mode: 'standard',
};

const jsonSchema: Complete<OpenAI.ResponseFormatTextJSONSchemaConfig> = {
  type: 'json_schema',
  name: 'answer',
  schema: {},
  description: 'An answer',
  strict: false,
};

const grammar: Complete<CustomToolInputFormat.Grammar> = { type: 'grammar', definition: 'a: "a"', syntax: 'lark' };

const text: Complete<OpenAI.ResponseTextConfig & Beta.BetaResponseTextConfig> = {
  format: jsonSchema,
  verbosity: 'low',
};

const streamOptions: Complete<OpenAI.ResponseCreateParams.StreamOptions & Beta.ResponseCreateParams.StreamOptions> = {
  include_obfuscation: true,
};

const cacheOptions: Complete<
  OpenAI.ResponseCreateParams.PromptCacheOptions & Beta.ResponseCreateParams.PromptCacheOptions
> = { mode: 'implicit', ttl: '30m', comparison_response_id: 'resp_1', prewarm: false };

const image: Complete<OpenAI.ResponseCreateParams.Image & Beta.ResponseCreateParams.Image> = {
  context_compression: 'auto',
};

const accessPrograms: Complete<OpenAI.ResponseCreateParams.AccessPrograms & Beta.ResponseCreateParams.AccessPrograms> =
  { cyber: 'standard' };

const contextManagement: Complete<
  OpenAI.ResponseCreateParams.ContextManagement & Beta.ResponseCreateParams.ContextManagement
> = { type: 'compaction', compact_threshold: 1000 };

const shortMessage: Complete<OpenAI.EasyInputMessage & Beta.BetaEasyInputMessage> = {
  type: 'message',
  role: 'assistant',
  content: 'Hi',
  phase: 'commentary',
};

const message: Complete<OpenAI.ResponseInputItem.Message & Beta.BetaResponseInputItem.Message> = {
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [],
  agent: { agent_name: 'a' },
};

const answer: Complete<OpenAI.ResponseOutputMessage & Beta.BetaResponseOutputMessage> = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  phase: 'final_answer',
  content: [],
  agent: { agent_name: 'a' },
};

const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } };

const textPart: Complete<OpenAI.ResponseInputText & Beta.BetaResponseInputText> = {
  type: 'input_text',
  text: 'Hi',
  ...breakpoint,
};

const imagePart: Complete<OpenAI.ResponseInputImage & Beta.BetaResponseInputImage> = {
  type: 'input_image',
  detail: 'low',
  image_url: 'https://example.com/a.png',
  file_id: null,
  ...breakpoint,
};

const filePart: Complete<OpenAI.ResponseInputFile & Beta.BetaResponseInputFile> = {
  type: 'input_file',
  detail: 'low',
  file_data: undefined,
  file_id: 'file-1',
  file_url: undefined,
  filename: 'a.txt',
  ...breakpoint,
};

const callable = { allowed_callers: ['direct'], async: false, defer_loading: false };

const functionTool: Complete<OpenAI.FunctionTool & Beta.BetaFunctionTool> = {
  type: 'function',
  name: 'lookup',
  description: 'Looks up',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  strict: true,
  output_schema: { type: 'object' },
  ...callable,
};

const customTool: Complete<OpenAI.CustomTool & Beta.BetaCustomTool> = {
  type: 'custom',
  name: 'edit',
  description: 'Edits',
  format: grammar,
  ...callable,
};

const namespaceTool: Complete<OpenAI.NamespaceTool & Beta.BetaNamespaceTool> = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers',
  tools: [customTool],
};

const fileSearchTool: Complete<OpenAI.FileSearchTool & Beta.BetaFileSearchTool> = {
  type: 'file_search',
  vector_store_ids: ['vs_1'],
  filters: { type: 'eq', key: 'a', value: 1 },
  max_num_results: 3,
  ranking_options: { ranker: 'auto' },
};

const webSearchTool: Complete<OpenAI.WebSearchTool & OpenAI.WebSearchPreviewTool & Beta.BetaWebSearchTool> = {
  type: 'web_search',
  external_web_access: true,
  filters: { allowed_domains: ['example.com'] },
  search_content_types: ['text'],
  search_context_size: 'low',
  user_location: { type: 'approximate' },
};

const interpreterTool: Complete<OpenAI.Tool.CodeInterpreter> = {
  type: 'code_interpreter',
  container: { type: 'auto' },
  allowed_callers: ['direct'],
};

const tools = [functionTool, customTool, namespaceTool, fileSearchTool, webSearchTool, interpreterTool];
const parts = [textPart, imagePart, filePart];

/** The fields of a request, without `betas`, which the SDK sends as a header. */
const fields: Complete<OpenAI.ResponseCreateParamsBase & Omit<Beta.ResponseCreateParamsBase, 'betas'>> = {
  access_programs: accessPrograms,
  background: false,
  context_management: [contextManagement],
  conversation: 'conv_1',
  image,
  include: [],
  input: [shortMessage, message, answer],
  instructions: 'Be brief',
  max_output_tokens: 16,
  max_tool_calls: 1,
  metadata: {},
  model: 'm',
  moderation: { model: 'omni' },
  multi_agent: { enabled: true, max_concurrent_subagents: 2 },
  parallel_tool_calls: true,
  previous_response_id: 'resp_1',
  prompt: { id: 'pmpt_1' },
  prompt_cache_key: 'key',
  prompt_cache_options: cacheOptions,
  prompt_cache_retention: '24h',
  reasoning,
  safety_identifier: 'user',
  service_tier: 'auto',
  store: true,
  stream: false,
  stream_options: streamOptions,
  temperature: 1,
  text,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'auto',
  user: 'user',
};

const IMPLEMENTED = [null, 'unsupported_parameter'];

/** The code that a request with a member is refused with; null when it is accepted. */
function codeOf(members: object): unknown {
  const violation = violationOf({ model: 'm', input: 'Hi', ...members }, 'reject') as readonly unknown[] | null;
  return violation === null ? null : violation[1];
}

describe('CreateRequestBody', () => {
  it('the table of parameters has a row for each member that a create request may have, and no others', () => {
    expect(Object.keys(PARAMETERS).toSorted()).toEqual([...membersOf(CreateRequestBody)].toSorted());
  });
});

describe('UNKNOWN_PARAMETERS=typos', () => {
  it.each<[param: string, suggestion: string, members: object]>([
    ['tools[0].paramters', 'parameters', { tools: [{ type: 'function', name: 'a', paramters: {} }] }],
    ['tools[0].descripton', 'description', { tools: [{ type: 'custom', name: 'a', descripton: '' }] }],
    [
      'tools[0].tools[0].strct',
      'strict',
      { tools: [{ ...namespaceTool, tools: [{ type: 'function', name: 'a', strct: true }] }] },
    ],
    ['multi_agent.enabld', 'enabled', { multi_agent: { enabld: true } }],
    ['text.format.strct', 'strict', { text: { format: { type: 'json_schema', name: 'a', schema: {}, strct: true } } }],
    [
      'tools[0].format.syntx',
      'syntax',
      { tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', definition: 'a', syntx: 'lark' } }] },
    ],
    ['tool_choice.server_lable', 'server_label', { tool_choice: { type: 'mcp', server_lable: 'docs' } }],
    ['tools[0].filter', 'filters', { tools: [{ type: 'web_search', filter: {} }] }],
    ['tools[0].filter', 'filters', { tools: [{ type: 'web_search_preview', filter: {} }] }],
    [
      'tools[0].max_num_result',
      'max_num_results',
      { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'], max_num_result: 3 }] },
    ],
    ['tools[0].contaner', 'container', { tools: [{ type: 'code_interpreter', contaner: 'cntr_1' }] }],
    [
      'input[0].content[0].detial',
      'detail',
      {
        input: [
          { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detial: 'low' }] },
        ],
      },
    ],
    [
      'input[0].output[0].txet',
      'text',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', txet: 'a' }] }] },
    ],
  ])('UNKNOWN_PARAMETERS=typos refuses %s, and suggests %s', (param, suggestion, members) => {
    expect(violationOf({ model: 'm', input: 'Hi', ...members }, 'typos')).toMatchObject([
      400,
      'unknown_parameter',
      param,
      `Unknown parameter: '${param}'. Did you mean '${suggestion}'?`,
    ]);
  });

  it('UNKNOWN_PARAMETERS=typos takes members of tools and parts that look like none of the API', () => {
    const vendor = { tools: [{ type: 'function', name: 'a', x_vendor: 1, cache_control: {} }] };
    const input = [{ role: 'user', content: [{ ...textPart, annotations: [], cache_control: {} }] }];
    expect(violationOf({ model: 'm', input, ...vendor }, 'typos')).toBeNull();
  });
});

describe('UNKNOWN_PARAMETERS=reject', () => {
  it.each(Object.entries(fields))('UNKNOWN_PARAMETERS=reject knows %s', (name, value) => {
    expect(IMPLEMENTED).toContain(codeOf({ [name]: value }));
  });

  it.each(tools.map((tool) => [tool['type'], tool]))(
    'UNKNOWN_PARAMETERS=reject knows the members of a tool of type %s',
    (_type, tool) => {
      expect(codeOf({ tools: [tool] })).toBeNull();
    },
  );

  it.each(parts.map((part) => [part.type, part]))(
    'UNKNOWN_PARAMETERS=reject knows the members of a part of type %s',
    (_type, part) => {
      expect(codeOf({ input: [{ role: 'user', content: [part] }] })).toBeNull();
    },
  );

  it.each<[param: string, members: object]>([
    ['reasoning.efort', { reasoning: { efort: 'low' } }],
    ['text.formats', { text: { formats: { type: 'text' } } }],
    ['stream_options.include_usage', { stream_options: { include_usage: true } }],
    ['prompt_cache_options.modus', { prompt_cache_options: { modus: 'implicit' } }],
    ['image.compression', { image: { compression: 'auto' } }],
    ['access_programs.bio', { access_programs: { bio: 'standard' } }],
    ['context_management[0].keep', { context_management: [{ type: 'compaction', keep: 1 }] }],
    ['input[0].bogus', { input: [{ ...shortMessage, bogus: 1 }] }],
  ])('UNKNOWN_PARAMETERS=reject refuses %s', (param, members) => {
    expect(violationOf({ model: 'm', input: 'Hi', ...members }, 'reject')).toMatchObject([
      400,
      'unknown_parameter',
      param,
      expect.stringContaining(`Unknown parameter: '${param}'.`),
    ]);
  });
});
