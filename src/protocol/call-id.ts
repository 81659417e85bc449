import type { Item } from './wire.js';

/**
 * The `call_id` that links a call and its output. The output of a local shell refers to its call by its own id
 * (protocol §3.1). Undefined when a client omits it: such an item has no counterpart.
 */
export function callIdOf(item: Item): string | undefined {
  if (typeof item.call_id === 'string') return item.call_id;
  return item.type === 'local_shell_call_output' ? item.id : undefined;
}

/** Whether an item calls a function or a custom tool of the client. */
export function isToolCall({ type }: { readonly type: string }): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Whether an item is the output of a call, of whatever kind. */
export function isOutput({ type }: Item): boolean {
  return type.endsWith('_output');
}
