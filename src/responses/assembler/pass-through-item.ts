import { type ForeignItem, type Item, itemIdPrefix } from '../../protocol/index.js';
import {
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  ProviderContractError,
  requireText,
  type WireEvent,
} from './output-item.js';
import { OVERHEAD_CHARACTERS, type PassThroughState } from './state.js';

/** Item types with ModelEvents of their own, which are not passed through. */
const NATIVE_TYPES = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

/** The events of each item type (protocol §4). SDKs fail on unknown ones. */
const EVENTS_OF_TYPE = new Map(
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

/** Members of an upstream event that are replaced. */
const ENVELOPE = new Set(['type', 'sequence_number', 'item_id', 'output_index', 'stream_id', 'obfuscation']);

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

/** The events that identify their item by index only (protocol §4). */
const WITHOUT_ITEM_ID = 'response.shell_call_command.';

/** An item of any other type: its envelope is rewritten, its payload is passed through unchanged. */
export class PassThroughItem extends OutputItem<PassThroughState> {
  /** Opens an item. Throws ProviderContractError for types with ModelEvents of their own. */
  static begin({ events, ids, outputIndex, key }: ItemOptions, item: ForeignItem): PassThroughItem {
    requireText(item.type, 'the type of an item');
    if (NATIVE_TYPES.has(item.type)) {
      throw new ProviderContractError(`items of type ${item.type} have events of their own and are not passed through`);
    }
    const id = ids.next(itemIdPrefix(item.type));
    const opened = new PassThroughItem(events, outputIndex, { kind: 'other', id, key, item: withId(item, id) });
    events.state.characters += lengthOf(opened.state.item);
    opened.announce();
    return opened;
  }

  /** Passes on an event of the item. Throws ProviderContractError for events of other item types. */
  event(event: Readonly<Record<string, unknown>>): void {
    const { type, delta } = event;
    requireText(type, 'the type of a passed event');
    requireOwnEvent(this.state.item.type, type, event);
    const members = toPayload(event);
    const position = type.startsWith(WITHOUT_ITEM_ID) ? `,"output_index":${this.outputIndex}` : this.position;
    const deltaLength = typeof delta === 'string' ? delta.length : undefined;
    this.events.state.characters += OVERHEAD_CHARACTERS + members.length;
    this.events.write(type, members === '' ? position : `${position},${members}`, deltaLength);
  }

  /** Sets the final form of the item; its type must not change. */
  complete(item: ForeignItem): void {
    const { id, item: before } = this.state;
    if (item.type !== before.type) {
      throw new ProviderContractError(`an item of type ${before.type} ended as ${item.type}`);
    }
    this.state.item = withId(item, id);
  }

  protected override finish(status: ItemStatus): Item {
    const { item } = this.state;
    const finished = item['status'] === 'in_progress' ? { ...item, status } : item;
    this.events.state.characters += lengthOf(finished);
    return finished;
  }

  protected override atStart(): Item {
    return this.state.item;
  }
}

/** The characters of output in a passed-on event. */
export function foldPassedEvent(event: WireEvent): number {
  return OVERHEAD_CHARACTERS + toPayload(event).length;
}

/** Characters of output in an item. */
export function lengthOf(item: Item): number {
  return JSON.stringify(item).length;
}

function requireOwnEvent(itemType: string, type: string, event: Readonly<Record<string, unknown>>): void {
  if (EVENTS_OF_TYPE.get(itemType)?.has(type) !== true) {
    throw new ProviderContractError(`an item of type ${itemType} has no event ${type}`);
  }
  for (const [pattern, member, memberType] of REQUIRED_MEMBERS) {
    if (pattern.test(type) && (typeof event[member] !== memberType || event[member] === null)) {
      throw new ProviderContractError(`the member ${member} of ${type} must be of type ${memberType}`);
    }
  }
}

/** The payload of an event as members of a JSON object. */
function toPayload(event: Readonly<Record<string, unknown>>): string {
  const payload = Object.fromEntries(Object.entries(event).filter(([member]) => !ENVELOPE.has(member)));
  return JSON.stringify(payload).slice(1, -1);
}

function withId(item: ForeignItem, id: string): Item {
  return { ...item, type: item.type, id };
}
