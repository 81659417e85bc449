import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionContentPartRefusal,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';

import { ApiError, type InputItem } from '../../protocol/index.js';
import type { TranslatedBody } from '../../responses/index.js';
import {
  type CheckOptions,
  compile,
  isObject,
  membersOf,
  objectsIn,
  refuseUnknown,
  requireObject,
} from '../../validation/index.js';
import { ChatCompletionBody } from './body.js';

type Members = Readonly<Record<string, unknown>>;

/** A validated body. Vendors have further members. */
type ChatBody = ChatCompletionCreateParams & Members;

/** An assistant message with the reasoning that Chat Completions servers let clients give back. */
interface AssistantMessage extends ChatCompletionAssistantMessageParam {
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly unknown[] | null;
}

/** What a translation depends on besides the body. */
export interface ChatRequestOptions extends CheckOptions {
  /** Members that some provider takes unchanged (docs/providers.md). */
  readonly forwarded: ReadonlySet<string>;
  /** Those of them that a model is given. */
  readonly forwardedTo: (model: string) => ReadonlySet<string>;
  /** Whether the response is stored if the body does not say. */
  readonly storesByDefault: boolean;
}

/** What the answer must be like. */
export interface AnswerOptions {
  /** The texts at which the answer ends. */
  readonly stops: readonly string[];
  /** Whether the log probabilities of the text are shown. */
  readonly logprobs: boolean;
  /** Whether a stream ends with its usage. */
  readonly includeUsage: boolean;
  /** Whether the chunks of a stream hide the lengths of their texts. */
  readonly obfuscate: boolean;
}

const check = compile(ChatCompletionBody);
const KNOWN = membersOf(ChatCompletionBody);

/** Members with the same name and meaning in both APIs. */
const SAME = [
  'model',
  'stream',
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'service_tier',
  'moderation',
] as const;

/** Members that no turn has. */
const UNSUPPORTED: readonly {
  readonly param: string;
  readonly isUsed: (value: unknown) => boolean;
  readonly hint: string;
}[] = [
  { param: 'n', isUsed: (value) => value !== 1, hint: 'Only one choice is supported: leave it out, or send 1.' },
  { param: 'functions', isUsed: () => true, hint: "Use 'tools' instead." },
  { param: 'function_call', isUsed: () => true, hint: "Use 'tool_choice' instead." },
  { param: 'audio', isUsed: () => true, hint: 'Audio is not supported.' },
  {
    param: 'modalities',
    isUsed: (value) => (value as readonly unknown[]).includes('audio'),
    hint: 'Audio is not supported.',
  },
  { param: 'web_search_options', isUsed: () => true, hint: "Use the tool 'web_search' of the Responses API instead." },
];

/** Members that only an upstream of the same dialect could honour: the operator says which it takes. */
const UPSTREAM_ONLY = ['seed', 'logit_bias', 'prediction'];

/** Members of the Responses API as a client of Chat Completions knows them, longest first. */
const RENAMED: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^text\.format\.(name|description|schema|strict)\b/, 'response_format.json_schema.$1'],
  [/^text\.format\b/, 'response_format'],
  [/^text\.verbosity\b/, 'verbosity'],
  [/^text\b/, 'response_format'],
  [/^reasoning(\.effort)?\b/, 'reasoning_effort'],
  [/^max_output_tokens\b/, 'max_completion_tokens'],
  [/^include\b/, 'logprobs'],
  [/^tools\[(\d+)\]\.(name|description|parameters|strict)\b/, 'tools[$1].function.$2'],
  [/^input\b(?!\[)/, 'messages'],
];

/** A request of Chat Completions as one of the Responses API. */
export class ChatRequest implements TranslatedBody {
  readonly body: Members;
  readonly answer: AnswerOptions;
  /** The message of each element of `input`, by its index. */
  private readonly places: readonly number[];

  /**
   * Throws ApiError 400, which names the parameter, for the first violation and for what a turn cannot say; nothing is left out in silence.
   */
  constructor(given: unknown, options: ChatRequestOptions) {
    const members = requireObject(given);
    const unknown = refuseUnknown(members, KNOWN, options, options.forwarded);
    if (unknown !== null) throw unknown.toError();
    check(members, options);
    const asked = members as unknown as ChatBody;
    refuseUnsupported(asked, options);
    const { input, places } = new InputWriter(asked.messages);
    this.places = places;
    this.answer = toAnswerOptions(asked);
    this.body = {
      ...pick(asked, SAME),
      input,
      ...toTools(asked),
      ...toText(asked),
      ...toLogprobs(asked),
      ...(asked.reasoning_effort == null ? {} : { reasoning: { effort: asked.reasoning_effort } }),
      ...toLimit(asked),
      store: asked.store ?? options.storesByDefault,
      ...pick(asked, [...options.forwarded]),
    };
  }

  /** An error of the turn in the terms of the request: its parameter is one of Chat Completions, and so are the words that quote it. */
  explain(error: unknown): unknown {
    if (!(error instanceof ApiError) || error.param === null) return error;
    const { param, status, type, code, headers, cause } = error;
    const renamed = this.rename(param);
    if (renamed === param) return error;
    const message = error.message
      .replaceAll(`'${param}'`, `'${renamed}'`)
      .replaceAll("'text.format'", "'response_format'");
    return new ApiError(status, type, code, renamed, message, headers, cause);
  }

  private rename(param: string): string {
    const [item, index] = /^input\[(\d+)\]/.exec(param) ?? [];
    if (item !== undefined) return `messages[${this.places[Number(index)] ?? 0}]${param.slice(item.length)}`;
    for (const [pattern, name] of RENAMED) if (pattern.test(param)) return param.replace(pattern, name);
    return param;
  }
}

function toAnswerOptions({ stop, logprobs, stream_options: options }: ChatBody): AnswerOptions {
  return {
    logprobs: logprobs === true,
    stops: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((text) => text !== ''),
    includeUsage: options?.include_usage === true,
    obfuscate: options?.include_obfuscation !== false,
  };
}

function refuseUnsupported(body: ChatBody, { unknownParameters, forwardedTo }: ChatRequestOptions): void {
  for (const { param, isUsed, hint } of UNSUPPORTED) {
    if (body[param] != null && isUsed(body[param])) throw unsupported(param, hint);
  }
  for (const param of UPSTREAM_ONLY) {
    if (body[param] == null || unknownParameters === 'ignore' || forwardedTo(body.model).has(param)) continue;
    throw unsupported(param, "It reaches only models whose providers have it in 'forward'.");
  }
  if (body.top_logprobs != null && body.logprobs !== true) {
    throw ApiError.badRequest("'top_logprobs' is only allowed when 'logprobs' is true.", 'top_logprobs');
  }
  if (body.stream_options != null && body.stream !== true) {
    throw ApiError.badRequest("'stream_options' is only allowed when 'stream' is true.", 'stream_options');
  }
}

function unsupported(param: string, hint: string): ApiError {
  return ApiError.of('unsupported_parameter', `Unsupported parameter: '${param}'. ${hint}`, { param });
}

/** The members that are there; null is the default. */
function pick(body: Members, names: readonly string[]): Members {
  return Object.fromEntries(names.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])));
}

function toTools({ tools, tool_choice: choice }: ChatBody): Members {
  return {
    ...(tools == null ? {} : { tools: tools.map(toTool) }),
    ...(choice == null ? {} : { tool_choice: toChoice(choice) }),
  };
}

function toTool(tool: ChatCompletionTool): Members {
  if (tool.type === 'function') return { ...tool.function, type: tool.type };
  const { format, ...custom } = tool.custom;
  return { ...custom, type: tool.type, ...(format == null ? {} : { format: flat(format, 'grammar') }) };
}

function toChoice(choice: NonNullable<ChatBody['tool_choice']>): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return toNamed(choice);
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed_tools', mode, tools: tools.map(toNamed) };
}

/** `{type:"function",function:{name}}` as `{type:"function",name}`. */
function toNamed(choice: object): Members {
  return flat(choice, String((choice as Members).type));
}

/** An object with the members of one of its members in place of it. */
function flat(value: object, member: string): Members {
  const { [member]: inner, ...others } = value as Members;
  return isObject(inner) ? { ...others, ...inner } : others;
}

function toText({ response_format: format, verbosity }: ChatBody): Members {
  if (format == null && verbosity == null) return {};
  const flatFormat = format == null ? {} : { format: flat(format, 'json_schema') };
  return { text: { ...flatFormat, ...(verbosity == null ? {} : { verbosity }) } };
}

function toLogprobs({ logprobs, top_logprobs: alternatives }: ChatBody): Members {
  if (logprobs !== true) return {};
  return {
    include: ['message.output_text.logprobs'],
    ...(alternatives == null ? {} : { top_logprobs: alternatives }),
  };
}

/** The newer of the two names counts more. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- clients still send it
function toLimit({ max_completion_tokens: newer, max_tokens: older }: ChatBody): Members {
  const limit = newer ?? older;
  return limit == null ? {} : { max_output_tokens: limit };
}

/** Writes messages as items: a message of the model may be several. */
class InputWriter {
  readonly input: InputItem[] = [];
  /** The message of each item, by its index. */
  readonly places: number[] = [];
  /** The ids of calls of custom tools, whose outputs are items of their own kind. */
  private readonly customCalls = new Set<string>();

  constructor(messages: readonly ChatCompletionMessageParam[]) {
    for (const [place, message] of messages.entries()) {
      for (const item of this.toItems(message)) {
        this.input.push(item);
        this.places.push(place);
      }
    }
  }

  private toItems(message: ChatCompletionMessageParam): readonly InputItem[] {
    switch (message.role) {
      case 'assistant':
        return this.toAnswer(message);
      case 'tool': {
        const { tool_call_id: callId, content } = message;
        const type = this.customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output';
        return [{ type, call_id: callId, output: toContent(content) }];
      }
      default:
        return [{ type: 'message', role: message.role, content: toContent(message.content ?? '') }];
    }
  }

  /** The order in which a model writes: its reasoning, its text, its calls. */
  private toAnswer(message: AssistantMessage): readonly InputItem[] {
    const { content, refusal, tool_calls: calls } = message;
    const parts = [...toSaid(content), ...(refusal == null || refusal === '' ? [] : [{ type: 'refusal', refusal }])];
    const hasMore = calls != null && calls.length > 0;
    const said = parts.length > 0 || !hasMore ? [{ type: 'message', role: 'assistant', content: parts }] : [];
    return [...toReasoning(message), ...said, ...(calls ?? []).map((call) => this.toCall(call))];
  }

  private toCall(call: ChatCompletionMessageToolCall): InputItem {
    const { id } = call;
    if (call.type === 'function') return { type: 'function_call', call_id: id, ...call.function };
    this.customCalls.add(id);
    return { type: 'custom_tool_call', call_id: id, ...call.custom };
  }
}

function toSaid(content: ChatCompletionAssistantMessageParam['content']): readonly object[] {
  if (content == null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'output_text', text: content }];
  return content.map((part) => (part.type === 'refusal' ? part : { type: 'output_text', text: part.text }));
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

function toContent(
  content: string | readonly (ChatCompletionContentPart | ChatCompletionContentPartRefusal)[],
): unknown {
  return typeof content === 'string' ? content : content.map(toPart);
}

function toPart(part: ChatCompletionContentPart | ChatCompletionContentPartRefusal): unknown {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url': {
      const { url, detail } = part.image_url;
      return { type: 'input_image', image_url: url, ...(detail == null ? {} : { detail }) };
    }
    case 'file':
      return { type: 'input_file', ...part.file };
    default:
      // Refused by the rules of the body.
      return part;
  }
}
