import {
  type Check,
  type Definitions,
  described,
  isObject,
  type JsonSchema,
  listOf,
  nested,
  schemaOf,
  stringOr,
  wrongType,
} from '../../validation/index.js';
import { AnyItem } from './any-item.js';
import { CustomToolCall, CustomToolCallOutput, FunctionCall, FunctionCallOutput } from './call-items.js';
import { McpApprovalResponse, McpCallItem, McpListItem } from './mcp.js';
import { messageItem } from './message-items.js';
import {
  AdditionalTools,
  Compaction,
  ConfigurationUpdate,
  ItemReference,
  Reasoning,
  ToolSearchOutput,
} from './state-items.js';

const anyItem = nested(AnyItem);
const itemReference = nested(ItemReference);

/** The validated item types. A Map, because a client may send the type `constructor`. */
const ITEMS: ReadonlyMap<string, Check> = new Map([
  ['message', messageItem],
  ['function_call', nested(FunctionCall)],
  ['function_call_output', nested(FunctionCallOutput)],
  ['custom_tool_call', nested(CustomToolCall)],
  ['custom_tool_call_output', nested(CustomToolCallOutput)],
  ['reasoning', nested(Reasoning)],
  ['compaction', nested(Compaction)],
  ['compaction_summary', nested(Compaction)],
  ['additional_tools', nested(AdditionalTools)],
  ['configuration_update', nested(ConfigurationUpdate)],
  ['item_reference', itemReference],
  ['mcp_approval_request', nested(McpCallItem)],
  ['mcp_approval_response', nested(McpApprovalResponse)],
  ['mcp_call', nested(McpCallItem)],
  ['mcp_list_tools', nested(McpListItem)],
  ['tool_search_output', nested(ToolSearchOutput)],
]);

/** The type of an item, inferred from its other members when absent (protocol §3.1). */
export function typeOfItem(item: Readonly<Record<string, unknown>>): unknown {
  if (item.type != null) return item.type;
  return item.id != null && item.role == null && item.content == null ? 'item_reference' : 'message';
}

const checkItem: Check = (value, options) => {
  if (!isObject(value)) return wrongType('an object', value);
  const type = typeOfItem(value);
  if (typeof type !== 'string') return wrongType('a string', type).under('type');
  const check = ITEMS.get(type) ?? anyItem;
  return check(value, options);
};

/** One element of `input`. Unknown types are accepted: Codex sends types before they are documented (docs/decisions/2026-11-21-protocol-choices.md). */
export const inputItem = described(checkItem, (definitions) => definitions.refer('InputItem', checkItem, describeItem));

/** The rules of typeOfItem: what has no type is a message, or a reference when it has nothing but an id. */
function describeItem(definitions: Definitions): JsonSchema {
  const nothing = { type: 'null' };
  const reference = schemaOf(itemReference, definitions);
  const ofType = (type: JsonSchema, isRequired: boolean, rest: JsonSchema): JsonSchema => ({
    allOf: [{ type: 'object', ...(isRequired ? { required: ['type'] } : {}), properties: { type } }, rest],
  });
  return {
    anyOf: [
      ofType({ type: ['string', 'null'], enum: ['message', null] }, false, schemaOf(messageItem, definitions)),
      { allOf: [{ type: 'object', properties: { type: nothing, role: nothing, content: nothing } }, reference] },
      ...[...ITEMS]
        .filter(([type]) => type !== 'message')
        .map(([type, check]) => ofType({ type: 'string', const: type }, true, schemaOf(check, definitions))),
      ofType({ type: 'string', not: { enum: [...ITEMS.keys()] } }, true, schemaOf(anyItem, definitions)),
    ],
  };
}

/** `input`: a string or items (protocol §2). */
export const input = stringOr({
  kind: 'array',
  check: listOf(inputItem),
  expected: 'one of a string or array of input items',
  maxLength: 10_485_760,
});
