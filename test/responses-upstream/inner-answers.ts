import { ModelError, type ModelEvent } from '../../src/index.js';
import type { Script } from '../../src/testing/index.js';

/** The usage of every answer. */
export const USAGE: ModelEvent = { type: 'usage', input: 11, cached: 3, cacheWrite: 1, output: 7, reasoning: 2 };

/** An item of a hosted tool, with events of its own. */
function hosted(type: string, members: object, ...events: readonly { readonly type: string }[]): readonly ModelEvent[] {
  const item = { id: `${type}_0123456789abcdef`, type, status: 'completed', ...members };
  return [
    { type: 'item.open', key: 'h', item: { ...item, status: 'in_progress' } },
    ...events.map((event) => ({ type: 'item.event', key: 'h', event }) as const),
    { type: 'item.close', key: 'h', item },
  ];
}

/** Events of a type of item that have no other members. */
const bare = (...names: readonly string[]): readonly { readonly type: string }[] =>
  names.map((name) => ({ type: `response.${name}` }));

const citation = {
  type: 'url_citation',
  start_index: 0,
  end_index: 2,
  url: 'https://example.com',
  title: 'A',
} as const;
const logprob = { token: 'Hi', logprob: -0.25, bytes: [72, 105], top_logprobs: [] };

const COMMAND = { command: 'ls', command_index: 0 };

/** What the model of the inner service says, and the types of protocol §4 that its stream has then. */
export const ANSWERS: readonly (readonly [
  name: string,
  model: readonly ModelEvent[] | Script,
  types: readonly string[],
])[] = [
  [
    'text with an annotation and logprobs',
    [
      { type: 'text', delta: 'Hi', logprobs: [logprob] },
      { type: 'annotation', annotation: citation },
      { type: 'text', delta: ' there.', logprobs: [] },
    ],
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.annotation.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  ],
  [
    'a refusal',
    [{ type: 'refusal', delta: 'I would rather not.' }],
    ['response.refusal.delta', 'response.refusal.done'],
  ],
  [
    'reasoning',
    [
      { type: 'reasoning_summary', delta: 'First' },
      { type: 'reasoning_summary', delta: 'Second', part: 1 },
      { type: 'reasoning', delta: 'raw' },
      { type: 'reasoning_encrypted', content: 'sealed' },
      { type: 'text', delta: 'Done.' },
    ],
    [
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
    ],
  ],
  [
    'calls of functions and custom tools',
    [
      { type: 'function_call', name: 'f', key: 'f' },
      { type: 'function_call_arguments', delta: '{"a":', key: 'f' },
      { type: 'function_call_arguments', delta: '1}', key: 'f' },
      { type: 'custom_tool_call', name: 'g', key: 'g' },
      { type: 'custom_tool_call_input', delta: 'text', key: 'g' },
    ],
    [
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
    ],
  ],
  [
    'an answer that is cut off',
    [{ type: 'text', delta: 'Hi' }, USAGE, { type: 'finish', reason: 'length' }],
    ['response.incomplete'],
  ],
  [
    'an answer that fails',
    async function* () {
      yield { type: 'text', delta: 'Hi' } as const;
      throw new ModelError('acme_overheated', 'Acme is hot.', { status: 529 });
    },
    ['response.failed'],
  ],
  ...[
    [
      'web_search_call',
      { action: { type: 'search', query: 'x' } },
      bare('web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'),
    ],
    [
      'file_search_call',
      { queries: ['x'], results: null },
      bare('file_search_call.in_progress', 'file_search_call.searching', 'file_search_call.completed'),
    ],
    [
      'code_interpreter_call',
      { code: '1', container_id: 'c', outputs: null },
      [
        ...bare('code_interpreter_call.in_progress', 'code_interpreter_call.interpreting'),
        { type: 'response.code_interpreter_call_code.delta', delta: '1' },
        { type: 'response.code_interpreter_call_code.done', code: '1' },
        ...bare('code_interpreter_call.completed'),
      ],
    ],
    [
      'image_generation_call',
      { result: 'iVBO' },
      [
        ...bare('image_generation_call.in_progress', 'image_generation_call.generating'),
        { type: 'response.image_generation_call.partial_image', partial_image_b64: 'iVBO', partial_image_index: 0 },
        ...bare('image_generation_call.completed'),
      ],
    ],
    [
      'mcp_call',
      { server_label: 's', name: 'f', arguments: '{}', output: 'x', error: null },
      [
        ...bare('mcp_call.in_progress'),
        { type: 'response.mcp_call_arguments.delta', delta: '{}' },
        { type: 'response.mcp_call_arguments.done', arguments: '{}' },
        ...bare('mcp_call.completed'),
      ],
    ],
    [
      'mcp_call',
      { server_label: 's', name: 'f', arguments: '{}', output: null, error: 'no', status: 'failed' },
      bare('mcp_call.in_progress', 'mcp_call.failed'),
    ],
    [
      'mcp_list_tools',
      { server_label: 's', tools: [] },
      bare('mcp_list_tools.in_progress', 'mcp_list_tools.completed'),
    ],
    [
      'mcp_list_tools',
      { server_label: 's', tools: [], error: 'no' },
      bare('mcp_list_tools.in_progress', 'mcp_list_tools.failed'),
    ],
    [
      'shell_call',
      { call_id: 'call_1', action: { commands: ['ls'], timeout_ms: null, max_output_length: null } },
      [
        { type: 'response.shell_call_command.added', ...COMMAND },
        { type: 'response.shell_call_command.delta', delta: 'ls', command_index: 0 },
        { type: 'response.shell_call_command.done', ...COMMAND },
      ],
    ],
    [
      'shell_call_output',
      { call_id: 'call_1', output: [], max_output_length: null },
      [
        { type: 'response.shell_call_output_content.delta', delta: { stdout: 'x' }, command_index: 0 },
        { type: 'response.shell_call_output_content.done', output: [], command_index: 0 },
      ],
    ],
    ['compaction', { encrypted_content: 'sealed' }, bare('compaction.compacting')],
  ].map((row): (typeof ANSWERS)[number] => {
    const [type, members, events] = row as [string, object, readonly { readonly type: string }[]];
    return [`${type} ${JSON.stringify(members)}`, hosted(type, members, ...events), events.map((event) => event.type)];
  }),
];

/** Types of protocol §4 that no answer of a provider has, and why. */
export const UNREACHABLE = {
  error: 'a refusal, which has no response; error-classes.spec.ts has those of upstreams',
  'response.queued': 'of background responses, which are not asked of an upstream',
  'response.audio.delta': 'no item of the Responses API holds audio',
  'response.audio.done': 'no item of the Responses API holds audio',
  'response.audio.transcript.delta': 'no item of the Responses API holds audio',
  'response.audio.transcript.done': 'no item of the Responses API holds audio',
};

/** The types of protocol §4. */
export const TYPES = [
  'error',
  ...[
    ...['audio.delta', 'audio.done', 'audio.transcript.delta', 'audio.transcript.done'],
    ...['code_interpreter_call_code.delta', 'code_interpreter_call_code.done'],
    ...['code_interpreter_call.completed', 'code_interpreter_call.in_progress', 'code_interpreter_call.interpreting'],
    ...['compaction.compacting', 'completed', 'content_part.added', 'content_part.done', 'created'],
    ...['custom_tool_call_input.delta', 'custom_tool_call_input.done'],
    ...['failed', 'file_search_call.completed', 'file_search_call.in_progress', 'file_search_call.searching'],
    ...['function_call_arguments.delta', 'function_call_arguments.done'],
    ...['image_generation_call.completed', 'image_generation_call.generating', 'image_generation_call.in_progress'],
    ...['image_generation_call.partial_image', 'in_progress', 'incomplete'],
    ...['mcp_call_arguments.delta', 'mcp_call_arguments.done', 'mcp_call.completed', 'mcp_call.failed'],
    ...['mcp_call.in_progress', 'mcp_list_tools.completed', 'mcp_list_tools.failed', 'mcp_list_tools.in_progress'],
    ...[
      'output_item.added',
      'output_item.done',
      'output_text.annotation.added',
      'output_text.delta',
      'output_text.done',
    ],
    ...['queued', 'reasoning_summary_part.added', 'reasoning_summary_part.done'],
    ...['reasoning_summary_text.delta', 'reasoning_summary_text.done', 'reasoning_text.delta', 'reasoning_text.done'],
    ...['refusal.delta', 'refusal.done', 'shell_call_command.added', 'shell_call_command.delta'],
    ...['shell_call_command.done', 'shell_call_output_content.delta', 'shell_call_output_content.done'],
    ...['web_search_call.completed', 'web_search_call.in_progress', 'web_search_call.searching'],
  ].map((type) => `response.${type}`),
];
