import type {
  ChatCompletionContentPartImage,
  ChatCompletionContentPartText,
  ChatCompletionMessageToolCall,
} from 'openai/resources/chat/completions';

import { isToolCall, type Item } from '../../protocol/index.js';
import { objectsIn } from '../../validation/index.js';
import { toCall } from './completion.js';

/** A message of a stored request. What a model has said and called in one message are several. */
export interface StoredMessage {
  readonly id: string;
  readonly role: string;
  readonly content: string | null;
  /** Where the content is not one text alone. */
  readonly content_parts: readonly (ChatCompletionContentPartText | ChatCompletionContentPartImage)[] | null;
  readonly refusal?: string;
  readonly tool_calls?: readonly ChatCompletionMessageToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

/** An item of the input as a message; none for what has no place in Chat Completions, such as a call that the service has run. */
export function toStoredMessages(item: Item): readonly StoredMessage[] {
  const isKnown = isToolCall(item) || MESSAGE_TYPES.has(item.type) || item.type.endsWith('_call_output');
  return isKnown ? [toStoredMessage(item)] : [];
}

const MESSAGE_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning']);

function toStoredMessage(item: Item): StoredMessage {
  const { id, type, role, content, output } = item;
  if (isToolCall(item))
    return { id, role: 'assistant', content: null, content_parts: null, tool_calls: [toCall(item)] };
  if (type === 'reasoning') {
    return { id, role: 'assistant', content: null, content_parts: null, reasoning_content: textIn(objectsIn(content)) };
  }
  if (output !== undefined) return { id, role: 'tool', ...contentOf(output), tool_call_id: String(item['call_id']) };
  const refusals = objectsIn(content).filter((part) => part['type'] === 'refusal');
  const refusal = refusals.map((part) => String(part['refusal'])).join('');
  return {
    id,
    role: typeof role === 'string' ? role : 'user',
    ...contentOf(content),
    ...(refusal === '' ? {} : { refusal }),
  };
}

function contentOf(content: unknown): Pick<StoredMessage, 'content' | 'content_parts'> {
  if (typeof content === 'string') return { content, content_parts: null };
  const given = objectsIn(content);
  const text = textIn(given);
  if (given.length === 1 && typeof given[0]?.['text'] === 'string') return { content: text, content_parts: null };
  return { content: text === '' ? null : text, content_parts: given.flatMap(toPart) };
}

function textIn(parts: readonly Readonly<Record<string, unknown>>[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}

function toPart({
  text,
  image_url: url,
}: Readonly<Record<string, unknown>>): (ChatCompletionContentPartText | ChatCompletionContentPartImage)[] {
  if (typeof text === 'string') return [{ type: 'text', text }];
  return typeof url === 'string' ? [{ type: 'image_url', image_url: { url } }] : [];
}
