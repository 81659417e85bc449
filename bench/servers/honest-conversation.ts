import type { CreateResponseRequest, Item } from 'antiphon';

import { makeId } from './floor-items.ts';
import type { StoredResponse } from './honest-store.ts';

/** Types of client calls and of their outputs. */
const CALLS = ['function_call', 'custom_tool_call', 'computer_call', 'shell_call', 'apply_patch_call'];
const CALL_TYPES = new Set(CALLS);
const OUTPUT_TYPES = new Set(CALLS.map((call) => `${call}_output`));

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
};

/** The input of a request as items to save. */
export function toItems(input: CreateResponseRequest['input']): readonly Item[] {
  if (input === undefined || input === null) return [];
  if (typeof input === 'string') return [toMessage({ role: 'user', content: input })];
  return input.map((item) => {
    const type = item.type ?? 'message';
    return type === 'message' ? toMessage(item) : { ...item, type, id: item.id ?? makeId(ID_PREFIXES[type] ?? 'item') };
  });
}

/**
 * Throws an Error unless the input is valid after the context: no duplicate items, a call for every output, and an output for
 * every call.
 */
export function checkConversation(parent: StoredResponse | null, input: readonly Item[]): void {
  const ids = new Set<string>();
  const calls = new Set<unknown>();
  const answered = new Set<unknown>();
  const add = (items: readonly Item[]): void => {
    for (const { id, type, call_id: callId } of items) {
      if (ids.has(id)) throw new Error(`Duplicate item found with id ${id}.`);
      ids.add(id);
      if (CALL_TYPES.has(type)) calls.add(callId);
      else if (OUTPUT_TYPES.has(type)) answered.add(callId);
    }
  };
  for (let stored = parent; stored !== null; stored = stored.parent) {
    add(stored.input);
    add(stored.output);
  }
  add(input);
  for (const id of answered) if (!calls.has(id)) throw new Error(`No tool call found with call_id ${String(id)}.`);
  for (const id of calls) if (!answered.has(id)) throw new Error(`No tool output found for call ${String(id)}.`);
}

function toMessage(item: { readonly id?: string | null; readonly [member: string]: unknown }): Item {
  const { id, role, content, status } = item;
  return {
    ...item,
    type: 'message',
    id: id ?? makeId('msg'),
    status: status ?? 'completed',
    role,
    content: typeof content === 'string' ? [toTextPart(role, content)] : content,
  };
}

function toTextPart(role: unknown, text: string): object {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}
