import { isObject } from '../../../validation/index.js';
import type { Turn } from '../../turn.js';
import type { Capabilities } from '../capabilities.js';
import { ToolTable } from '../tools/index.js';
import type { ChatMessage } from './chat-message.js';
import { chooseTools } from './choose-tools.js';
import { placeSystemMessages } from './place-system-messages.js';
import { toMessages } from './to-messages.js';
import { toOutputFormat } from './to-output-format.js';
import { toSampling } from './to-sampling.js';

/** What a translation depends on besides the turn and the capabilities. */
export interface TranslationOptions {
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
export interface ChatRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly tools: ToolTable;
}

/** Translates a turn. Throws ModelError 400 for anything that the upstream does not support. */
export function toChatRequest(
  turn: Turn,
  capabilities: Capabilities,
  options: TranslationOptions,
  form: AnswerForm = 'stream',
): ChatRequest {
  const { settings, context } = turn;
  const { omit } = options;
  const maker = { provider: options.name, model: settings.model };
  const tools = new ToolTable(settings.tools, context);
  const { demand, ...format } = toOutputFormat(settings.text, capabilities);
  const instructions = [settings.instructions, demand].filter((text) => text != null && text !== '').join('\n\n');
  const preface: readonly ChatMessage[] = instructions === '' ? [] : [{ role: 'developer', content: instructions }];
  const messages = [...preface, ...toMessages(context, tools, capabilities, maker)];
  const body: Record<string, unknown> = {
    model: settings.model,
    messages: placeSystemMessages(messages, capabilities),
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
