import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionContentPartRefusal,
  ChatCompletionContentPartText,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
} from 'openai/resources/chat/completions';

import type { ContentPart, InputItem } from '../../protocol/index.js';
import { objectsIn } from '../../validation/index.js';
import type { CacheMarks } from '../cache-marks.js';
import type { Place } from '../places.js';

/** An assistant message with the reasoning that Chat Completions servers let clients give back. */
interface AssistantMessage extends ChatCompletionAssistantMessageParam {
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly unknown[] | null;
}

type GivenPart = ChatCompletionContentPart | ChatCompletionContentPartRefusal;

/** Members of items as messages and calls have them. */
const OUTPUT_MEMBERS = { call_id: 'tool_call_id', output: 'content' };
const REASONING_MEMBERS = {
  content: 'reasoning_content',
  encrypted_content: 'reasoning_details',
  id: 'reasoning_details',
};
const FUNCTION_MEMBERS = { call_id: 'id', name: 'function.name', arguments: 'function.arguments' };
const CUSTOM_MEMBERS = { call_id: 'id', name: 'custom.name', input: 'custom.input' };

/** Writes messages as items: a message of the model may be several. */
export class InputWriter {
  readonly input: InputItem[] = [];
  /** Where each item comes from, by its index. */
  readonly places: Place[] = [];
  /** The ids of calls of custom tools, whose outputs are items of their own kind. */
  private readonly customCalls = new Set<string>();

  constructor(
    messages: readonly ChatCompletionMessageParam[],
    private readonly marks: CacheMarks,
  ) {
    for (const [index, message] of messages.entries()) this.write(message, `messages[${index}]`);
  }

  private write(message: ChatCompletionMessageParam, path: string): void {
    switch (message.role) {
      case 'assistant':
        this.writeAnswer(message, path);
        break;
      case 'tool': {
        const { tool_call_id: callId, content } = message;
        const type = this.customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output';
        this.add({ type, call_id: callId, output: this.toContent(content, path) }, { path, members: OUTPUT_MEMBERS });
        break;
      }
      default:
        this.add(
          { type: 'message', role: message.role, content: this.toContent(message.content ?? '', path) },
          { path },
        );
    }
  }

  /** The order in which a model writes: its reasoning, its text, its calls. */
  private writeAnswer(message: AssistantMessage, path: string): void {
    const { content, refusal, tool_calls: calls } = message;
    for (const item of toReasoning(message)) this.add(item, { path, members: REASONING_MEMBERS });
    const parts = [
      ...this.toSaid(content, path),
      ...(refusal == null || refusal === '' ? [] : [{ type: 'refusal', refusal }]),
    ];
    const hasMore = calls != null && calls.length > 0;
    if (parts.length > 0 || !hasMore) this.add({ type: 'message', role: 'assistant', content: parts }, { path });
    for (const [index, call] of (calls ?? []).entries()) this.writeCall(call, `${path}.tool_calls[${index}]`);
  }

  private writeCall(call: ChatCompletionMessageToolCall, path: string): void {
    const { id, type } = call;
    if (type === 'function') {
      const { name, arguments: json } = call.function;
      this.add({ type: 'function_call', call_id: id, name, arguments: json }, { path, members: FUNCTION_MEMBERS });
      return;
    }
    this.customCalls.add(id);
    const { name, input } = call.custom;
    this.add({ type: 'custom_tool_call', call_id: id, name, input }, { path, members: CUSTOM_MEMBERS });
  }

  private toContent(content: string | readonly GivenPart[], path: string): string | readonly ContentPart[] {
    return typeof content === 'string' ? content : this.toParts(content, toPart, path);
  }

  private toSaid(content: ChatCompletionAssistantMessageParam['content'], path: string): readonly object[] {
    if (content == null || content === '') return [];
    return typeof content === 'string'
      ? [{ type: 'output_text', text: content }]
      : this.toParts(content, toSaidPart, path);
  }

  private toParts<Part extends object>(
    given: readonly Part[],
    toPartOf: (part: Part) => ContentPart,
    path: string,
  ): readonly ContentPart[] {
    return given.flatMap((part, index) => this.marks.keep(part, [toPartOf(part)], `${path}.content[${index}]`));
  }

  private add(item: InputItem, place: Place): void {
    this.input.push(item);
    this.places.push(place);
  }
}

function toSaidPart(part: ChatCompletionContentPartText | ChatCompletionContentPartRefusal): ContentPart {
  return part.type === 'refusal'
    ? { type: part.type, refusal: part.refusal }
    : { type: 'output_text', text: part.text };
}

/**
 * The reasoning of an answer: its text, and what this service has sealed of it and sent as `reasoning_details`. Seals stay in their order;
 * the text stands beside the first.
 */
function toReasoning({
  reasoning_content,
  reasoning,
  reasoning_details: details,
}: AssistantMessage): readonly InputItem[] {
  const text = reasoning_content ?? reasoning ?? '';
  const content = text === '' ? {} : { content: [{ type: 'reasoning_text', text }] };
  const seals = objectsIn(details).filter(
    ({ type, data }) => type === 'reasoning.encrypted' && typeof data === 'string',
  );
  if (seals.length === 0) return text === '' ? [] : [{ type: 'reasoning', summary: [], ...content }];
  return seals.map(({ id, data }, index) => ({
    type: 'reasoning',
    summary: [],
    ...(typeof id === 'string' ? { id } : {}),
    ...(index === 0 ? content : {}),
    encrypted_content: data,
  }));
}

function toPart(part: GivenPart): ContentPart {
  const cache = pick(part, ['prompt_cache_breakpoint']);
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text, ...cache };
    case 'image_url': {
      const { url, detail } = part.image_url;
      return { type: 'input_image', image_url: url, ...(detail == null ? {} : { detail }), ...cache };
    }
    case 'file':
      return { type: 'input_file', ...pick(part.file, ['file_data', 'file_id', 'filename']), ...cache };
    default:
      // Refused by the rules of the body.
      return { ...part };
  }
}

/** The members that are there; null is the default. */
export function pick(value: object, names: Iterable<string>): Readonly<Record<string, unknown>> {
  const members = value as Readonly<Record<string, unknown>>;
  const picked: Record<string, unknown> = {};
  for (const name of names) if (members[name] != null) picked[name] = members[name];
  return picked;
}
