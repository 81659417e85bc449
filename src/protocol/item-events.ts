/** The events of each item type that passes through (protocol §4). */
const EVENTS_OF_TYPE: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    web_search_call: ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
    file_search_call: ['file_search_call.in_progress', 'file_search_call.searching', 'file_search_call.completed'],
    code_interpreter_call: [
      'code_interpreter_call.in_progress',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
    ],
    image_generation_call: [
      'image_generation_call.in_progress',
      'image_generation_call.generating',
      'image_generation_call.partial_image',
      'image_generation_call.completed',
    ],
    mcp_call: [
      'mcp_call.in_progress',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.done',
      'mcp_call.completed',
      'mcp_call.failed',
    ],
    mcp_list_tools: ['mcp_list_tools.in_progress', 'mcp_list_tools.completed', 'mcp_list_tools.failed'],
    shell_call: ['shell_call_command.added', 'shell_call_command.delta', 'shell_call_command.done'],
    shell_call_output: ['shell_call_output_content.delta', 'shell_call_output_content.done'],
    apply_patch_call: ['apply_patch_call_operation_diff.delta', 'apply_patch_call_operation_diff.done'],
    compaction: ['compaction.compacting'],
  }).map(([type, events]) => [type, new Set(events.map((event) => `response.${event}`))]),
);

/** The events of the response, and of the items that the service builds itself (protocol §4). */
const OWN_EVENTS = [
  ...['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'],
  ...['output_item', 'content_part', 'reasoning_summary_part'].flatMap((name) => [`${name}.added`, `${name}.done`]),
  ...['output_text', 'refusal', 'reasoning_text', 'reasoning_summary_text', 'reasoning'].flatMap(toDeltas),
  ...['function_call_arguments', 'custom_tool_call_input'].flatMap(toDeltas),
  'output_text.annotation.added',
  'output_item.interrupted',
  ...['steer.accepted', 'steer.pending', 'steer.failed', 'interrupt.accepted', 'interrupt.failed'],
].map((event) => `response.${event}`);

/** Every event that belongs to a response, besides those that end or accompany its stream. */
export const PROTOCOL_EVENTS: ReadonlySet<string> = new Set([
  ...OWN_EVENTS,
  ...[...EVENTS_OF_TYPE.values()].flatMap((events) => [...events]),
  'error',
  'keepalive',
]);

/** Members that SDKs require per event, with their type (protocol §4). */
const REQUIRED_MEMBERS: readonly (readonly [event: RegExp, member: string, type: string])[] = [
  [/shell_call_output_content\.delta$/, 'delta', 'object'],
  [/(?<!shell_call_output_content)\.delta$/, 'delta', 'string'],
  [/_arguments\.done$/, 'arguments', 'string'],
  [/_code\.done$/, 'code', 'string'],
  [/_diff\.done$/, 'diff', 'string'],
  [/shell_call_command\.(?:added|done)$/, 'command', 'string'],
  [/shell_call_(?:command|output_content)\./, 'command_index', 'number'],
  [/\.partial_image$/, 'partial_image_b64', 'string'],
  [/\.partial_image$/, 'partial_image_index', 'number'],
];

/** Members of an event, besides its type. */
type EventMembers = Readonly<Record<string, unknown>>;

/** Whether only the service itself may send events of this type to a client (protocol §4). */
export function isProtocolEvent(eventType: string): boolean {
  return PROTOCOL_EVENTS.has(eventType);
}

/**
 * Whether an event can be passed on within an item that passes through: it belongs to the item's type, and has the members
 * that SDKs require. False for every event of an unknown type of item.
 */
export function isEventOf(itemType: string, eventType: string, event: EventMembers): boolean {
  return hasEvent(itemType, eventType) && missingMember(eventType, event) === null;
}

/** Whether items of a type have events of another (protocol §4). */
export function hasEvent(itemType: string, eventType: string): boolean {
  return EVENTS_OF_TYPE.get(itemType)?.has(eventType) === true;
}

/** The first required member that an event lacks, with the type that it must have; null if it has all. */
export function missingMember(eventType: string, event: EventMembers): { name: string; type: string } | null {
  for (const [pattern, name, type] of REQUIRED_MEMBERS) {
    if (pattern.test(eventType) && (typeof event[name] !== type || event[name] === null)) return { name, type };
  }
  return null;
}

function toDeltas(name: string): readonly string[] {
  return [`${name}.delta`, `${name}.done`];
}
