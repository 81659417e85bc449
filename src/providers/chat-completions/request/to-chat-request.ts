import type { ResponseSettings } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { Turn } from '../../turn.js';
import type { Capabilities } from '../capabilities.js';
import { ToolTable } from '../tools/tool-table.js';
import { type ChatMessage, type ChatPart, isSaid, textOf, toContent } from './chat-message.js';
import { chooseTools } from './choose-tools.js';
import { toMessages } from './to-messages.js';

/** Members with the same name in both protocols. They are sent only if the client sent them, so that server defaults apply. */
const SAME = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'user'] as const;

/** How a client asks for the cache of its prompts; the same in both protocols. */
const PROMPT_CACHE = ['prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'] as const;

/** How parts mark the end of a prefix that may be cached: as OpenAI has it, and as Anthropic and gateways before its models. */
const PART_MARKS: readonly (readonly [
  name: string,
  isTaken: (capabilities: Capabilities, options: Pick<ChatRequestOptions, 'forward'>) => boolean,
])[] = [
  ['prompt_cache_breakpoint', ({ promptCache }) => promptCache],
  ['cache_control', (_, { forward }) => forward.includes('cache_control')],
];

const REASONING: Readonly<Record<Capabilities['reasoningSwitch'], (effort: string) => object>> = {
  reasoning_effort: (effort) => ({ reasoning_effort: effort }),
  reasoning: (effort) => ({ reasoning: { effort } }),
  enable_thinking: (effort) => ({ chat_template_kwargs: { enable_thinking: effort !== 'none' } }),
  thinking: (effort) =>
    effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : { thinking: { type: 'enabled' }, reasoning_effort: effort },
  none: () => ({}),
};

/** What a translation depends on besides the turn and the capabilities. */
export interface ChatRequestOptions {
  /** Name of the provider. */
  readonly name: string;
  /** Request members that are forwarded unchanged. */
  readonly forward: readonly string[];
  /** Request members that are not sent. */
  readonly omit: ReadonlySet<string>;
}

/** How an answer is asked for: in pieces, or all of it at once. */
export type AnswerForm = 'stream' | 'whole';

/** The body of a chat request, and the tools that its answer may call. */
export interface UpstreamChatRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly tools: ToolTable;
}

/** Translates a turn. Throws ModelError 400 for anything that the upstream does not support. */
export function toChatRequest(
  turn: Turn,
  capabilities: Capabilities,
  options: ChatRequestOptions,
  form: AnswerForm = 'stream',
): UpstreamChatRequest {
  const { settings, context } = turn;
  const { omit } = options;
  const maker = { provider: options.name, model: settings.model };
  const tools = new ToolTable(settings.tools, context);
  const { demand, ...format } = toOutputFormat(settings.text, capabilities);
  const instructions = [settings.instructions, demand].filter((text) => text != null && text !== '').join('\n\n');
  const preface: readonly ChatMessage[] = instructions === '' ? [] : [{ role: 'developer', content: instructions }];
  const marks = PART_MARKS.filter(([, isTaken]) => isTaken(capabilities, options)).map(([name]) => name);
  const messages = [...preface, ...toMessages(context, tools, { ...capabilities, marks }, maker)];
  const body: Record<string, unknown> = {
    model: settings.model,
    messages: toOrder(placeSystemMessages(messages, capabilities), capabilities),
    stream: form === 'stream',
    ...(form === 'stream' && capabilities.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...chooseTools(turn, tools, capabilities),
    ...format,
    ...toSampling(turn, capabilities),
  };
  for (const name of options.forward) {
    if (Object.hasOwn(turn.parameters, name)) forward(name, turn.parameters[name], body);
  }
  return { body: Object.fromEntries(Object.entries(body).filter(([name]) => !omit.has(name))), tools };
}

/** Merges a forwarded member into the body, such as `chat_template_kwargs`. The client's values win. */
function forward(name: string, value: unknown, body: Record<string, unknown>): void {
  if (value === undefined) return;
  const ours = body[name];
  body[name] = isObject(ours) && isObject(value) ? { ...ours, ...value } : value;
}

/** Changes the role and position of system and developer messages to those that the upstream supports. */
function placeSystemMessages(
  messages: readonly ChatMessage[],
  { developerRole, systemRole }: Capabilities,
): readonly ChatMessage[] {
  if (systemRole === 'anywhere') return developerRole ? messages : messages.map(asSystem);
  const end = messages.findIndex((message) => !isSystem(message));
  const count = end === -1 ? messages.length : end;
  const pictures = messages.slice(0, count).flatMap(({ content }) => picturesIn(content));
  const rest = [
    ...(pictures.length === 0 ? [] : [{ role: 'user', content: pictures } as const]),
    ...messages.slice(count).map((message) => (isSystem(message) ? asUser(message) : message)),
  ];
  if (count === 0) return rest;
  const text = messages
    .slice(0, count)
    .map(({ content }) => textOf(content))
    .join('\n\n');
  if (systemRole === 'first') return [{ role: developerRole ? 'developer' : 'system', content: text }, ...rest];
  return withPreface(text, rest);
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** The parts that are not text; they move to a user message. */
function picturesIn(content: ChatMessage['content']): readonly ChatPart[] {
  return typeof content === 'string' ? [] : (content ?? []).filter(({ type }) => type !== 'text');
}

function asSystem(message: ChatMessage): ChatMessage {
  return message.role === 'developer' ? { ...message, role: 'system' } : message;
}

function asUser(message: ChatMessage): ChatMessage {
  return { ...message, role: 'user' };
}

/** Prepends a text to the first message if it is the user's, or else adds a user message. */
function withPreface(text: string, [first, ...rest]: readonly ChatMessage[]): readonly ChatMessage[] {
  const preface: ChatPart = { type: 'text', text: `${text}\n` };
  if (first?.role !== 'user') {
    return [{ role: 'user', content: text }, ...(first === undefined ? [] : [first]), ...rest];
  }
  const parts = typeof first.content === 'string' ? [{ type: 'text', text: first.content }] : (first.content ?? []);
  return [{ ...first, content: toContent([preface, ...parts]) }, ...rest];
}

/** Stands for the messages that an alternating order demands and the conversation does not have. */
const NO_MESSAGE = '(no message)';

/**
 * Brings messages into the order that the upstream supports. If roles must alternate, messages of the user that follow each other become
 * one, and `NO_MESSAGE` stands before an answer that is the first, and between the output of a tool and a message of the user.
 */
function toOrder(messages: readonly ChatMessage[], { roleOrder }: Capabilities): readonly ChatMessage[] {
  if (roleOrder === 'any') return messages;
  const groups: ChatMessage[][] = [];
  for (const message of messages) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group !== undefined && before?.role === 'user' && message.role === 'user') {
      group.push(message);
      continue;
    }
    if (message.role === 'assistant' && (before === undefined || isSystem(before)))
      groups.push([{ role: 'user', content: NO_MESSAGE }]);
    if (message.role === 'user' && before?.role === 'tool') groups.push([{ role: 'assistant', content: NO_MESSAGE }]);
    groups.push([message]);
  }
  return groups.flatMap((group) => (group.length === 1 ? group : [joinUser(group)]));
}

/** Messages of the user as one. */
function joinUser(messages: readonly ChatMessage[]): ChatMessage {
  const contents = messages.map(({ content }) => content ?? '');
  if (contents.every((content) => typeof content === 'string')) return { role: 'user', content: contents.join('\n\n') };
  const parts = contents.flatMap((content): readonly ChatPart[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
  return { role: 'user', content: parts.filter(isSaid) };
}

/** How the output format is requested. */
interface OutputFormat {
  readonly response_format?: object;
  /** Instructions for the model, for formats that the upstream cannot enforce. */
  readonly demand?: string;
}

/** Translates `text.format` into the strictest form that the upstream supports. */
function toOutputFormat({ format }: ResponseSettings['text'], { structuredOutput }: Capabilities): OutputFormat {
  if (format === undefined || format.type === 'text') return {};
  const jsonObject = structuredOutput === 'none' ? {} : { response_format: { type: 'json_object' } };
  if (format.type === 'json_object') {
    return structuredOutput === 'none' ? { demand: 'Answer with a JSON object and nothing else.' } : jsonObject;
  }
  const { name, description, schema, strict } = format;
  if (structuredOutput !== 'json_schema') {
    const demand = `Answer with JSON that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`;
    return { ...jsonObject, demand };
  }
  const optional = { ...(description == null ? {} : { description }), ...(strict == null ? {} : { strict }) };
  return { response_format: { type: 'json_schema', json_schema: { name, ...optional, schema } } };
}

/** Translates sampling, limits, reasoning, the cache of prompts, log probabilities and metadata. */
function toSampling({ settings, parameters, include }: Turn, capabilities: Capabilities): object {
  const limit = settings.max_output_tokens;
  const effort = settings.reasoning?.effort ?? null;
  const alternatives = settings.top_logprobs ?? 0;
  const wantsLogprobs = alternatives > 0 || include.includes('message.output_text.logprobs');
  const verbosity = capabilities.verbosity ? (parameters.text?.verbosity ?? null) : null;
  return {
    ...pick(parameters, SAME),
    ...(capabilities.promptCache ? pick(parameters, PROMPT_CACHE) : {}),
    ...(limit === null ? {} : { [capabilities.maxTokensField]: limit }),
    ...(effort === null ? {} : REASONING[capabilities.reasoningSwitch](effort)),
    ...(verbosity === null ? {} : { verbosity }),
    ...(wantsLogprobs ? { logprobs: true } : {}),
    ...(alternatives > 0 ? { top_logprobs: alternatives } : {}),
    ...(Object.keys(settings.metadata ?? {}).length === 0 ? {} : { metadata: settings.metadata }),
  };
}

function pick(parameters: Turn['parameters'], names: readonly (keyof Turn['parameters'])[]): object {
  return Object.fromEntries(names.flatMap((name) => (parameters[name] == null ? [] : [[name, parameters[name]]])));
}
