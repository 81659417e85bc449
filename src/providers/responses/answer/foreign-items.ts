import { type ForeignItem, isToolCall } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';

/** Clients cannot send longer ones back (protocol §2). */
const LONGEST_CALL_ID = 64;

/** What the final form of an item must be for a client to use it. Other types are passed on as they are. */
const IS_FINAL: ReadonlyMap<string, (item: ForeignItem) => boolean> = new Map([
  ['message', ({ content }: ForeignItem) => isListOf(content, isContent)],
  [
    'reasoning',
    ({ summary, content, encrypted_content: encrypted }: ForeignItem) =>
      isOptional(summary, isTexts) && isOptional(content, isTexts) && isOptional(encrypted, isText),
  ],
  ['function_call', ({ arguments: text }: ForeignItem) => isText(text)],
  ['custom_tool_call', ({ input }: ForeignItem) => isText(input)],
]);

/**
 * An item with the members that some servers write in another form as the API has them: content and summaries as a text, an object or a list
 * of texts, the role `model`, and the payload of a call as another value of JSON. Other values are returned as they are.
 */
export function inFormOfApi(item: unknown): unknown {
  if (!isObject(item)) return item;
  const { type, role, content, summary, arguments: payload, input } = item;
  if (type === 'message')
    return { ...item, ...(role === 'model' && { role: 'assistant' }), ...partsIn({ content }, 'output_text') };
  if (type === 'reasoning')
    return { ...item, ...partsIn({ content }, 'reasoning_text'), ...partsIn({ summary }, 'summary_text') };
  if (type === 'function_call' && payload != null && !isText(payload))
    return { ...item, arguments: JSON.stringify(payload) };
  if (type === 'custom_tool_call' && input != null && !isText(input)) return { ...item, input: JSON.stringify(input) };
  return item;
}

/** A call that ends without a payload, with the one that came before: servers write null for none, and for one that they have streamed. */
export function withPayload(item: unknown, payloadOf: (call: ForeignItem) => string): unknown {
  if (!isForeignItem(item)) return item;
  const { type, arguments: payload, input } = item;
  if (type === 'function_call' && payload == null) return { ...item, arguments: payloadOf(item) || '{}' };
  return type === 'custom_tool_call' && input == null ? { ...item, input: payloadOf(item) } : item;
}

/** The member with its texts as parts of a type. */
function partsIn(member: Readonly<Record<string, unknown>>, type: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(member).flatMap(([name, value]) => {
      const values: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (!isObject(value) && !values.some(isText)) return [];
      return [[name, values.flatMap((each) => partOf(each, type))]];
    }),
  );
}

function partOf(value: unknown, type: string): readonly unknown[] {
  if (!isText(value)) return [value];
  if (value === '') return [];
  return [type === 'output_text' ? { type, text: value, annotations: [], logprobs: [] } : { type, text: value }];
}

/** Whether a value is an output item that can be shown while it grows: it has a type and, if it is a call, a name and a `call_id`. */
export function isForeignItem(value: unknown): value is ForeignItem {
  if (!isObject(value) || !isName(value.type)) return false;
  if (value.type === 'message') return value.role === undefined || value.role === null || value.role === 'assistant';
  if (!isToolCall({ type: value.type })) return true;
  return isName(value.name) && isCallId(value.call_id) && isOptional(value.namespace, isText);
}

/** Whether a value is a call that no client can answer, because it has no name or no usable `call_id`. */
export function isUselessCall(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string' && isToolCall({ type: value.type }) && !isForeignItem(value);
}

/** Whether a value is an output item in its final form. */
export function isFinalItem(value: unknown): value is ForeignItem {
  return isForeignItem(value) && IS_FINAL.get(value.type)?.(value) !== false;
}

function isContent(part: unknown): boolean {
  if (!isObject(part) || !isName(part.type)) return false;
  if (part.type === 'refusal') return isText(part.refusal);
  if (part.type !== 'output_text') return true;
  return isText(part.text) && isOptional(part.annotations, isObjects) && isOptional(part.logprobs, isObjects);
}

function isTexts(parts: unknown): boolean {
  return isListOf(parts, (part) => isObject(part) && isName(part.type) && isText(part.text));
}

function isObjects(values: unknown): boolean {
  return isListOf(values, isObject);
}

function isListOf(values: unknown, is: (value: unknown) => boolean): boolean {
  return Array.isArray(values) && values.every(is);
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isCallId(value: unknown): boolean {
  return isName(value) && value.length <= LONGEST_CALL_ID;
}
