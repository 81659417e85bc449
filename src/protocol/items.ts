import { ApiError } from './errors.js';
import type { ContentPart, Item } from './wire.js';

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

/**
 * The outputs of asynchronous calls that do not stand right behind the calls of their answer (protocol §3.4), each with the latest call
 * that it may belong to.
 */
export function lateOutputs(items: readonly Item[]): ReadonlyMap<Item, Item> {
  const late = new Map<Item, Item>();
  const running = new Map<string, Item>();
  /** The calls of the latest answer, as long as nothing but outputs has followed it. */
  const latest = new Set<string | undefined>();
  let isAnswered = false;
  for (const item of items) {
    const callId = callIdOf(item);
    if (item.type.endsWith('_call')) {
      if (isAnswered) latest.clear();
      isAnswered = false;
      latest.add(callId);
      if (item['async'] === true && callId !== undefined) running.set(callId, item);
    } else if (isOutput(item)) {
      isAnswered = true;
      const call = running.get(callId ?? '');
      if (call !== undefined && !latest.has(callId)) late.set(item, call);
    } else if (item.type !== 'reasoning') {
      latest.clear();
    }
  }
  return late;
}

/** A text as the part of a message with this role. */
export function toTextPart(role: unknown, text: string): ContentPart {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}

/** A late output as a message of the user, for a context without its call. */
export function toOutputMessage(output: Item, { name, call_id: callId }: Item): Item {
  const given = output['output'];
  const parts = Array.isArray(given) ? (given as readonly object[]) : [{ type: 'input_text', text: given }];
  const title = { type: 'input_text', text: `Output of ${String(name)}, call ${String(callId)}:` };
  return { id: output.id, type: 'message', role: 'user', status: 'completed', content: [title, ...parts] };
}

/** Whether items of this type add tools to those of the request (protocol §3.1). */
export function addsTools(type: unknown): boolean {
  return type === 'additional_tools' || type === 'tool_search_output';
}

/** Whether an item asks for a compaction (protocol §6.11). */
export function isCompactionTrigger({ type }: { readonly type?: unknown }): boolean {
  return type === 'compaction_trigger';
}

/**
 * Refuses a trigger that is not the last item of `input`: what follows it would be lost or answered, and no one knows which. Among the
 * `items` of a conversation there is none at all: only a turn compacts. Throws ApiError 400 `invalid_value`.
 */
export function refuseMisplacedTrigger(
  items: string | readonly { readonly type?: unknown }[] | null | undefined,
  param: 'input' | 'items' = 'input',
): void {
  if (items == null || typeof items === 'string') return;
  const index = items.findIndex(isCompactionTrigger);
  if (index === -1 || (param === 'input' && index === items.length - 1)) return;
  const message =
    param === 'input'
      ? "Invalid value: an item of type 'compaction_trigger' must be the last item of 'input'."
      : "Items of type 'compaction_trigger' cannot be added to a conversation. Send it as the input of a response.";
  throw ApiError.of('invalid_value', message, { param: `${param}[${index}]` });
}

/** The longest `encrypted_content` of a compaction item (protocol §2), characters. */
export const MAX_SEAL_CHARACTERS = 20_971_520;

/** Whether an item stands for everything before it (protocol §9). Codex has an older name for it. */
export function isCompaction({ type }: Item): boolean {
  return type === 'compaction' || type === 'compaction_summary';
}

/** Whether it is reasoning with `encrypted_content`. */
export function isSealedReasoning({ type, encrypted_content: sealed }: Item): boolean {
  return type === 'reasoning' && typeof sealed === 'string' && sealed !== '';
}

/** Reasoning without its `encrypted_content`; undefined if nothing is left that a model could be given. */
export function withoutSeal({ encrypted_content: _, ...reasoning }: Item): Item | undefined {
  return Array.isArray(reasoning.content) && reasoning.content.length > 0 ? reasoning : undefined;
}

/** What an upstream demands back with its answer, such as signatures; only the provider that has made it can read it. */
export type OpaqueData = Readonly<Record<string, unknown>>;

/** Whether an item has opaque data. Only models are given such reasoning; clients have it in seals, if at all. */
export function hasOpaqueData({ type, opaque }: Item): boolean {
  return type === 'reasoning' && opaque !== undefined;
}

/** Items without opaque data, and without reasoning that is nothing else. */
export function withoutOpaqueData(items: readonly Item[]): readonly Item[] {
  return items.some(hasOpaqueData) ? items.flatMap(withoutData) : items;
}

function withoutData(item: Item): readonly Item[] {
  if (!hasOpaqueData(item)) return [item];
  const { opaque: _, ...reasoning } = item;
  const isEmpty = [reasoning.content, reasoning.summary].every((parts) => !Array.isArray(parts) || parts.length === 0);
  return isEmpty ? [] : [reasoning];
}

/** Leaves out the reasoning of earlier turns: everything before the last message of a user (protocol §2). */
export function withoutEarlierReasoning(items: readonly Item[]): readonly Item[] {
  const turn = items.findLastIndex(({ type, role }) => type === 'message' && role === 'user');
  return items.filter(({ type }, index) => index >= turn || type !== 'reasoning');
}
