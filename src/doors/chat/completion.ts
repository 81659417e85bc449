import type {
  ChatCompletion,
  ChatCompletionMessage,
  ChatCompletionMessageToolCall,
  ChatCompletionTokenLogprob,
} from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';

import {
  ApiError,
  type ContentPart,
  IMAGE_ERRORS,
  isToolCall,
  type Item,
  type Logprob,
  type ResponseErrorBody,
  type ResponseObject,
  type Usage,
} from '../../protocol/index.js';
import { objectsIn } from '../../validation/index.js';
import { toApiError } from '../door.js';
import { CutText, type Said } from './cut-text.js';

type Members = Readonly<Record<string, unknown>>;

/** The reasoning that a client may give back, in members that Chat Completions servers have agreed on. */
export interface ReasoningMembers {
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly object[];
}

/** Images that the model has drawn, in a member that Chat Completions servers have agreed on. */
export interface Pictures {
  readonly images?: readonly object[];
}

/** The body of an answer. */
export type Completion = Omit<ChatCompletion, 'choices' | 'usage'> & {
  readonly usage?: CompletionUsage;
  readonly choices: readonly [
    Omit<ChatCompletion.Choice, 'message'> & { readonly message: ChatCompletionMessage & ReasoningMembers & Pictures },
  ];
};

/** Why a completion has ended. */
export type ChatFinishReason = ChatCompletion.Choice['finish_reason'];

const RESPONSE_PREFIX = /^resp_/;
const COMPLETION_PREFIX = /^chatcmpl-/;

/** The id of a completion: that of its response with another prefix. */
export function toCompletionId(responseId: string): string {
  return responseId.replace(RESPONSE_PREFIX, 'chatcmpl-');
}

/** The id of the response of a completion; null for what is no id of a completion. */
export function toResponseId(completionId: string): string | null {
  return COMPLETION_PREFIX.test(completionId) ? completionId.replace(COMPLETION_PREFIX, 'resp_') : null;
}

/** The statuses of responses that are completions: they have ended, and not failed. */
export const ANSWERED: readonly string[] = ['completed', 'incomplete'];

/**
 * A response that has ended as a completion, cut at the first of `stops`. Throws ApiError for a response that has failed: a completion cannot
 * say so.
 */
export function toCompletion(response: ResponseObject, stops: readonly string[] = []): Completion {
  if (response.error !== null) throw toChatError(response.error);
  const answer = new Answer(response.output, stops);
  const { logprobs } = answer;
  return {
    id: toCompletionId(response.id),
    object: 'chat.completion',
    created: response.created_at,
    model: response.model,
    choices: [
      {
        index: 0,
        message: answer.toMessage(),
        logprobs: logprobs.length === 0 ? null : { content: logprobs.map(toLogprob), refusal: null },
        finish_reason: answer.isCut ? 'stop' : finishOf(response, answer.calls.length > 0),
      },
    ],
    ...(response.usage === null ? {} : { usage: toUsage(response.usage) }),
    ...tierOf(response),
    ...(Object.keys(response.metadata ?? {}).length === 0 ? {} : { metadata: response.metadata }),
  };
}

/** What the items of a response say, up to the first of some texts. */
class Answer {
  readonly calls: ChatCompletionMessageToolCall[] = [];
  readonly logprobs: Logprob[] = [];
  private text = '';
  /** The length of the parts so far, of which the text may have been cut. */
  private before = 0;
  private refusal = '';
  private reasoning = '';
  private readonly details: object[] = [];
  private readonly images: object[] = [];
  private readonly annotations: ChatCompletionMessage.Annotation[] = [];
  private readonly cut: CutText;

  constructor(output: readonly Item[], stops: readonly string[]) {
    this.cut = new CutText(stops);
    for (const item of output) {
      if (isToolCall(item)) this.say(this.cut.flush());
      this.add(item);
      if (this.isCut) return;
    }
    this.say(this.cut.flush());
  }

  get isCut(): boolean {
    return this.cut.isCut;
  }

  private add(item: Item): void {
    if (item.type === 'message') for (const part of objectsIn(item['content'])) this.addPart(part as ContentPart);
    else if (item.type === 'reasoning') this.addReasoning(item);
    else if (isToolCall(item)) this.calls.push(toCall(item));
    else this.images.push(...toImages(item));
  }

  toMessage(): Completion['choices'][0]['message'] {
    const { text, refusal, reasoning, details, images, calls, annotations } = this;
    return {
      role: 'assistant',
      content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
      refusal: refusal === '' ? null : refusal,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(images.length === 0 ? {} : { images }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      annotations,
    };
  }

  private say({ text, logprobs }: Said): void {
    this.text += text;
    for (const token of logprobs) this.logprobs.push(token);
  }

  private addPart(part: ContentPart): void {
    if (this.isCut) return;
    if (part.type === 'refusal') this.refusal += String(part['refusal']);
    if (part.type !== 'output_text') return;
    const text = String(part['text']);
    this.say(this.cut.push(text, objectsIn(part['logprobs']) as unknown as Logprob[]));
    const cited = objectsIn(part['annotations']).flatMap((annotation) => toAnnotations(annotation, this.before));
    const isSaid = ({ url_citation: { end_index: end } }: ChatCompletionMessage.Annotation): boolean =>
      !this.isCut || end <= this.text.length;
    this.annotations.push(...cited.filter(isSaid));
    this.before += text.length;
  }

  private addReasoning(item: Item): void {
    for (const { text } of objectsIn(item['content'])) if (typeof text === 'string') this.reasoning += text;
    this.details.push(...toDetails(item, this.details.length));
  }
}

/** Why answers are incomplete that no limit has cut short. A stream that has come to a stop sequence is steered to its end. */
const FINISHES: Readonly<Record<string, ChatFinishReason>> = { content_filter: 'content_filter', steered: 'stop' };

/** Whatever else has cut an answer short is a limit. */
export function finishOf({ status, incomplete_details: details }: ResponseObject, hasCalls: boolean): ChatFinishReason {
  if (status === 'incomplete') return FINISHES[String(details?.reason)] ?? 'length';
  return hasCalls ? 'tool_calls' : 'stop';
}

/** A call with what is known of its payload. */
export function toCall(item: Item): ChatCompletionMessageToolCall {
  const { type, call_id: id, name } = item as Item & { readonly call_id: string; readonly name: string };
  return type === 'function_call'
    ? { id, type: 'function', function: { name, arguments: String(item['arguments']) } }
    : { id, type: 'custom', custom: { name, input: String(item['input']) } };
}

/** Chat Completions knows citations of pages only. */
export function toAnnotations(
  { type, url, title, start_index: start, end_index: end }: Members,
  before: number,
): ChatCompletionMessage.Annotation[] {
  if (type !== 'url_citation') return [];
  const places = { start_index: before + Number(start), end_index: before + Number(end) };
  return [{ type, url_citation: { url: String(url), title: String(title), ...places } }];
}

/** The seal of reasoning, which a client gives back as it is. */
export function toDetails({ type, id, encrypted_content: data }: Item, index: number): readonly object[] {
  return type === 'reasoning' && typeof data === 'string' ? [{ type: 'reasoning.encrypted', id, data, index }] : [];
}

/** The image that an item shows, if it is one. */
export function toImages({ type, result, output_format: format = 'png' }: Item): readonly object[] {
  if (type !== 'image_generation_call' || typeof result !== 'string') return [];
  return [{ type: 'image_url', image_url: { url: `data:image/${String(format)};base64,${result}` } }];
}

/** The log probability of a token. */
export function toLogprob({ token, logprob, bytes, top_logprobs: others }: Logprob): ChatCompletionTokenLogprob {
  return { token, logprob, bytes, top_logprobs: others };
}

/** The tokens of a turn under the names of Chat Completions. */
export function toUsage({
  input_tokens,
  input_tokens_details,
  output_tokens,
  output_tokens_details,
  total_tokens,
}: Usage): CompletionUsage {
  const { cached_tokens, cache_write_tokens } = input_tokens_details;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: { cached_tokens, cache_write_tokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: output_tokens_details.reasoning_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function tierOf({ service_tier: tier }: ResponseObject): Pick<Completion, 'service_tier'> {
  return tier === null ? {} : { service_tier: tier as NonNullable<Completion['service_tier']> };
}

/** The error of a response that has failed. Only the model checks images, so the error names 'messages'. */
export function toChatError(error: ResponseErrorBody): ApiError {
  const { code, message } = error;
  if (IMAGE_ERRORS.has(code)) return new ApiError(400, 'invalid_request_error', code, 'messages', message);
  return toApiError(error);
}
