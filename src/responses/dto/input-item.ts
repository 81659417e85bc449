import { isObject, listOf, nested, stringOr, wrongType, type Check } from '../../validation/index.js';
import { AnyItem } from './any-item.js';
import { CustomToolCall, CustomToolCallOutput, FunctionCall, FunctionCallOutput } from './call-items.js';
import { messageItem } from './message-items.js';
import { AdditionalTools, Compaction, ItemReference, Reasoning } from './state-items.js';

const anyItem = nested(AnyItem);

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
  ['item_reference', nested(ItemReference)],
]);

/** The type of an item, inferred from its other members when absent (protocol §3.1). */
export function typeOfItem(item: Readonly<Record<string, unknown>>): unknown {
  if (item.type != null) return item.type;
  return item.id != null && item.role == null && item.content == null ? 'item_reference' : 'message';
}

/** One element of `input`. Unknown types are accepted: Codex sends types before they are documented (docs/decisions/2026-11-21-protocol-choices.md). */
export const inputItem: Check = (value, options) => {
  if (!isObject(value)) return wrongType('an object', value);
  const type = typeOfItem(value);
  if (typeof type !== 'string') return wrongType('a string', type).under('type');
  const check = ITEMS.get(type) ?? anyItem;
  return check(value, options);
};

/** `input`: a string or items (protocol §2). */
export const input = stringOr({
  kind: 'array',
  check: listOf(inputItem),
  expected: 'one of a string or array of input items',
  maxLength: 10_485_760,
});
