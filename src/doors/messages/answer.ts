import type {
  ContentBlock,
  Message,
  MessageDeltaUsage,
  RedactedThinkingBlock,
  RefusalStopDetails,
  StopReason,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages';

import type { Item, ResponseObject } from '../../protocol/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import type { MessageOptions } from './request.js';
import { searchesIn, toCitation, toServerBlocks } from './server-tools.js';
import { toSignature } from './signature.js';
import { toApiError } from '../door.js';
import { StopScanner } from '../stop-scanner.js';

/** Why and how a message ended. */
export interface MessageEnd {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
  readonly stop_details: RefusalStopDetails | null;
}

/** A response as a message of Anthropic. Throws ApiError for a response that has failed. */
export function toMessage(response: ResponseObject, options: MessageOptions): Message {
  if (response.error !== null) throw toApiError(response.error);
  const { content, stopSequence } = toContent(response.output, options);
  const usage = { ...newMessage(response).usage, ...toUsage(response, options) };
  return { ...newMessage(response), content, ...toEnd(response, stopSequence), usage };
}

/** A message at its beginning. */
export function newMessage({ id, model }: Pick<ResponseObject, 'id' | 'model'>): Message {
  return {
    id: toMessageId(id),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation: null,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      inference_geo: null,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      speed: null,
    },
  };
}

/** The id of a message tells that of its response. */
export function toMessageId(responseId: string): string {
  return responseId.replace(/^resp_/, 'msg_');
}

/** The usage of a response. What was read from a cache, or written to one, is no part of `input_tokens`. */
export function toUsage(
  { usage, output }: Pick<ResponseObject, 'usage' | 'output'>,
  { shown }: MessageOptions,
): MessageDeltaUsage & { readonly input_tokens: number } {
  const searches = searchesIn(output, shown);
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage?.input_tokens_details ?? {};
  return {
    input_tokens: Math.max((usage?.input_tokens ?? 0) - cached - written, 0),
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: usage?.output_tokens ?? 0,
    output_tokens_details: { thinking_tokens: usage?.output_tokens_details.reasoning_tokens ?? 0 },
    server_tool_use: searches === null ? null : { web_search_requests: searches, web_fetch_requests: 0 },
  };
}

/** How a message ends, given the stop sequence that has cut it. */
export function toEnd(
  { output, incomplete_details: incomplete }: ResponseObject,
  stopSequence: string | null,
): MessageEnd {
  const end = (reason: StopReason): MessageEnd => ({
    stop_reason: reason,
    stop_sequence: stopSequence,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  });
  if (stopSequence !== null) return end('stop_sequence');
  if (incomplete?.reason === 'max_output_tokens') return end('max_tokens');
  if (incomplete?.reason === 'content_filter' || output.some(isRefusal)) return end('refusal');
  return end(output.some(({ type }) => type === 'function_call') ? 'tool_use' : 'end_turn');
}

function isRefusal({ type, content }: Item): boolean {
  return type === 'message' && objectsIn(content).some((part) => part.type === 'refusal');
}

/** The blocks of an answer, up to the first stop sequence. */
function toContent(
  output: readonly Item[],
  { thinking, stopSequences, shown }: MessageOptions,
): { readonly content: ContentBlock[]; readonly stopSequence: string | null } {
  const content: ContentBlock[] = [];
  const hidden = new HiddenThinking();
  for (const item of output) {
    if (item.type === 'function_call') {
      content.push(...hidden.beforeCall(), toToolUse(item, toInput(item['arguments'])));
    } else if (item.type === 'reasoning') {
      content.push(...(thinking === 'hidden' ? hidden.add(item) : toThinking(item, thinking === 'text')));
    }
    content.push(...toServerBlocks(item, shown));
    if (item.type !== 'message') continue;
    for (const part of objectsIn(item['content'])) {
      const scanner = new StopScanner(stopSequences);
      const text = scanner.push(textOf(part)) + scanner.flush();
      const cited = shown.search ? objectsIn(part.annotations).flatMap((each) => toCitation(each, text) ?? []) : [];
      if (text !== '') content.push({ type: 'text', text, citations: cited.length > 0 ? cited : null });
      if (scanner.found !== null) return { content, stopSequence: scanner.found };
    }
  }
  return { content, stopSequence: null };
}

/**
 * The seals of reasoning for a client that has not asked for thinking. Upstreams demand them back with calls: an answer without calls stays free
 * of blocks that its client does not expect.
 */
export class HiddenThinking {
  private readonly withheld: RedactedThinkingBlock[] = [];
  private hasCalls = false;

  /** The blocks that an item of reasoning adds to the message. */
  add({ encrypted_content: sealed }: Item): readonly RedactedThinkingBlock[] {
    const data = toSignature(sealed);
    if (data !== '') this.withheld.push({ type: 'redacted_thinking', data });
    return this.hasCalls ? this.withheld.splice(0) : [];
  }

  /** The blocks that stand before a call. */
  beforeCall(): readonly RedactedThinkingBlock[] {
    this.hasCalls = true;
    return this.withheld.splice(0);
  }
}

/** The text of a part: what the model says, or that it refuses. */
function textOf({ text, refusal }: Readonly<Record<string, unknown>>): string {
  if (typeof text === 'string') return text;
  return typeof refusal === 'string' ? refusal : '';
}

/** The input of a call. Messages has no place but an object for it: what else a model writes is a member of one. */
export function toInput(json: unknown): object {
  const text = typeof json === 'string' ? json : '';
  const input = parseJson(text);
  if (isObject(input)) return input;
  return text.trim() === '' ? {} : { invalid_arguments: text };
}

/** The block of a call. */
export function toToolUse(item: Item, input: object): ToolUseBlock {
  const { call_id: id, name } = item;
  return { type: 'tool_use', id: String(id), name: String(name), input, caller: { type: 'direct' } };
}

/** The block of reasoning: its own text or, where that is hidden, its summary. None for reasoning that says nothing and has no seal. */
function toThinking(item: Item, isShown: boolean): readonly ContentBlock[] {
  const { content, summary, encrypted_content: sealed } = item;
  const raw = objectsIn(content);
  const texts = (raw.length > 0 ? raw : objectsIn(summary)).map(({ text }) => String(text));
  const thinking = texts.join(PART_SEPARATOR);
  const signature = toSignature(sealed);
  if (thinking === '' && signature === '') return [];
  return [{ type: 'thinking', thinking: isShown ? thinking : '', signature }];
}

/** Stands between the parts of reasoning, which a block of thinking does not have. */
export const PART_SEPARATOR = '\n\n';
