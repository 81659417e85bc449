/**
 * Protocol data for the event-order checker: the required members of every event (protocol §4) and the item types of
 * deltas. Written by hand, independent of the service's own tables.
 */

const AT_ITEM = 'item_id:string output_index:integer';
const AT_PART = `${AT_ITEM} content_index:integer`;
const AT_SUMMARY = `${AT_ITEM} summary_index:integer`;

/** Required members by event type, besides `type` and `sequence_number`: `name:kind` separated by spaces. */
export const EVENT_FIELDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    created: 'response:object',
    queued: 'response:object',
    in_progress: 'response:object',
    completed: 'response:object',
    incomplete: 'response:object',
    failed: 'response:object',
    'output_item.added': 'output_index:integer item:object',
    'output_item.done': 'output_index:integer item:object',
    'output_item.interrupted': `${AT_ITEM} response_id:string`,
    'steer.accepted': 'steer:object',
    'content_part.added': `${AT_PART} part:object`,
    'content_part.done': `${AT_PART} part:object`,
    'output_text.delta': `${AT_PART} delta:string logprobs:array`,
    'output_text.done': `${AT_PART} text:string logprobs:array`,
    'output_text.annotation.added': `${AT_PART} annotation_index:integer annotation:object`,
    'refusal.delta': `${AT_PART} delta:string`,
    'refusal.done': `${AT_PART} refusal:string`,
    'reasoning_text.delta': `${AT_PART} delta:string`,
    'reasoning_text.done': `${AT_PART} text:string`,
    'reasoning_summary_part.added': `${AT_SUMMARY} part:object`,
    'reasoning_summary_part.done': `${AT_SUMMARY} part:object`,
    'reasoning_summary_text.delta': `${AT_SUMMARY} delta:string`,
    'reasoning_summary_text.done': `${AT_SUMMARY} text:string`,
    'function_call_arguments.delta': `${AT_ITEM} delta:string`,
    'function_call_arguments.done': `${AT_ITEM} arguments:string`,
    'custom_tool_call_input.delta': `${AT_ITEM} delta:string`,
    'custom_tool_call_input.done': `${AT_ITEM} input:string`,
    'mcp_call_arguments.delta': `${AT_ITEM} delta:string`,
    'mcp_call_arguments.done': `${AT_ITEM} arguments:string`,
    'code_interpreter_call_code.delta': `${AT_ITEM} delta:string`,
    'code_interpreter_call_code.done': `${AT_ITEM} code:string`,
    'apply_patch_call_operation_diff.delta': `${AT_ITEM} delta:string`,
    'apply_patch_call_operation_diff.done': `${AT_ITEM} diff:string`,
    'shell_call_command.added': 'output_index:integer command_index:integer command:string',
    'shell_call_command.delta': 'output_index:integer command_index:integer delta:string',
    'shell_call_command.done': 'output_index:integer command_index:integer command:string',
    'shell_call_output_content.delta': `${AT_ITEM} command_index:integer delta:object`,
    'shell_call_output_content.done': `${AT_ITEM} command_index:integer output:array`,
    'image_generation_call.partial_image': `${AT_ITEM} partial_image_index:integer partial_image_b64:string`,
    ...atItem('web_search_call', ['in_progress', 'searching', 'completed']),
    ...atItem('file_search_call', ['in_progress', 'searching', 'completed']),
    ...atItem('code_interpreter_call', ['in_progress', 'interpreting', 'completed']),
    ...atItem('image_generation_call', ['in_progress', 'generating', 'completed']),
    ...atItem('mcp_call', ['in_progress', 'completed', 'failed']),
    ...atItem('mcp_list_tools', ['in_progress', 'completed', 'failed']),
    ...atItem('compaction', ['compacting']),
  }).map(([name, fields]) => [`response.${name}`, fields]),
);

/** The text of a `*.delta` and its `*.done`, by their type without the last word. */
export interface TextFamily {
  /** The type of the item it belongs to. */
  readonly item: string;
  /** The member of `*.done` that holds the whole text. */
  readonly done: string;
  /** For texts inside parts: the part's type, and the member that counts the parts. */
  readonly part?: { readonly type: string; readonly index: 'content_index' | 'summary_index'; readonly text: string };
}

/** Every family of text events. */
export const TEXT_FAMILIES: ReadonlyMap<string, TextFamily> = new Map<string, TextFamily>([
  ['response.output_text', inPart('message', 'text', 'output_text', 'content_index')],
  ['response.refusal', inPart('message', 'refusal', 'refusal', 'content_index')],
  ['response.reasoning_text', inPart('reasoning', 'text', 'reasoning_text', 'content_index')],
  ['response.reasoning_summary_text', inPart('reasoning', 'text', 'summary_text', 'summary_index')],
  ['response.function_call_arguments', { item: 'function_call', done: 'arguments' }],
  ['response.custom_tool_call_input', { item: 'custom_tool_call', done: 'input' }],
  ['response.mcp_call_arguments', { item: 'mcp_call', done: 'arguments' }],
  ['response.code_interpreter_call_code', { item: 'code_interpreter_call', done: 'code' }],
  ['response.apply_patch_call_operation_diff', { item: 'apply_patch_call', done: 'diff' }],
]);

/** Members every snapshot of the Response has, possibly null (protocol §5, Open Responses). */
export const RESPONSE_MEMBERS: readonly string[] = [
  'access_programs, background, completed_at, created_at, error, frequency_penalty, id, incomplete_details, instructions',
  'max_output_tokens, max_tool_calls, metadata, model, moderation, object, output, parallel_tool_calls, presence_penalty',
  'previous_response_id, prompt_cache_key, prompt_cache_retention, reasoning, safety_identifier, service_tier, status',
  'store, temperature, text, tool_choice, tool_usage, tools, top_logprobs, top_p, truncation, usage, user',
].flatMap((line) => line.split(', '));

/** The statuses of the Response in each event that carries one. */
export const STATUSES_OF_EVENT: ReadonlyMap<string, readonly string[]> = new Map([
  ['response.created', ['in_progress', 'queued']],
  ['response.queued', ['queued']],
  ['response.in_progress', ['in_progress']],
  ['response.completed', ['completed']],
  ['response.incomplete', ['incomplete', 'cancelled']],
  ['response.failed', ['failed']],
]);

/** The statuses that only background responses have. */
export const BACKGROUND_STATUSES: ReadonlySet<unknown> = new Set(['queued', 'cancelled']);

/** The terminal events; exactly one ends every stream. */
export const TERMINAL_TYPES: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

function atItem(item: string, phases: readonly string[]): Record<string, string> {
  return Object.fromEntries(phases.map((phase) => [`${item}.${phase}`, AT_ITEM]));
}

function inPart(item: string, done: string, type: string, index: 'content_index' | 'summary_index'): TextFamily {
  return { item, done, part: { type, index, text: done } };
}

/** Splits `response.output_text.delta` into its family and its last word, or null for other events. */
export function textFamilyOf(type: string): readonly [family: string, verb: string] | null {
  const dot = type.lastIndexOf('.');
  const family = type.slice(0, dot);
  return TEXT_FAMILIES.has(family) ? [family, type.slice(dot + 1)] : null;
}
