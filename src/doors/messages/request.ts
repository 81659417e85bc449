import type {
  MessageCreateParamsBase,
  Tool,
  ToolUnion,
  WebSearchTool20250305,
} from '@anthropic-ai/sdk/resources/messages';

import { ApiError, type InputItem } from '../../protocol/index.js';
import { CreateRequestBody, type TranslatedBody } from '../../responses/index.js';
import { type CheckOptions, compile, membersOf, requireObject } from '../../validation/index.js';
import { toItems } from './items.js';
import { CountTokensBody, isSearchTool, MessagesBody } from './messages-body.js';

const checkMessages = compile(MessagesBody);
const checkCount = compile(CountTokensBody);

const TRANSLATED = membersOf(MessagesBody);
const RESPONSES_MEMBERS = membersOf(CreateRequestBody);

/** Members that change nothing that a client could see here. */
export const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...['betas', 'cache_control', 'context_management', 'diagnostics', 'inference_geo', 'speed'],
  ...['user_profile_id', 'workspace_id'],
]);

/** Members that would change the answer, and that only Anthropic can serve. */
const UNSUPPORTED = ['container', 'mcp_servers'];

/** What the translation of one request needs to know beside its body. */
export interface TranslationOptions {
  readonly check: CheckOptions;
  /** The efforts that a model is known to take; undefined if that is not known. */
  readonly effortsOf: (model: string) => readonly string[] | undefined;
  /** Whether the response is stored. */
  readonly store: boolean;
  /** Is told the name of a member that has no effect. */
  readonly ignore: (name: string) => void;
}

/** How thinking is shown: with its text, without it, or not at all. */
export type ThinkingDisplay = 'text' | 'omitted' | 'hidden';

/** How a request wants to be answered, beyond what the turn knows of it. */
export interface AnswerOptions {
  readonly thinking: ThinkingDisplay;
  readonly stopSequences: readonly string[];
}

/** A translated request. */
export interface Translation extends TranslatedBody {
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: AnswerOptions;
}

/** A checked body. The types of the SDK have lost what only older models take. */
interface MessagesRequest extends MessageCreateParamsBase {
  readonly temperature?: number | null;
  readonly top_p?: number | null;
}

/**
 * Translates the body of `POST /messages`. Blocks of thinking that this service has not made are left out.
 *
 * @throws ApiError 400 for the first violation, and for what the Responses API cannot say
 */
export function translateMessages(body: unknown, options: TranslationOptions): Translation {
  const members = requireObject(body);
  checkMessages(members, options.check);
  const request = members as unknown as MessagesRequest;
  const { max_tokens: maxTokens, temperature, top_p: topP, metadata, service_tier: tier } = request;
  const asked = toAsked(request, options);
  return {
    ...asked,
    body: {
      ...asked.body,
      ...othersOf(members, options),
      max_output_tokens: maxTokens,
      stream: request.stream ?? false,
      store: options.store,
      ...(temperature == null ? {} : { temperature }),
      ...(topP == null ? {} : { top_p: topP }),
      ...(metadata?.user_id == null ? {} : { user: metadata.user_id }),
      ...(tier == null ? {} : { service_tier: tier === 'standard_only' ? 'default' : 'auto' }),
      ...(asked.answer.thinking === 'hidden' ? {} : { include: ['reasoning.encrypted_content'] }),
    },
  };
}

/**
 * Translates the body of `POST /messages/count_tokens`.
 *
 * @throws ApiError 400 for the first violation
 */
export function translateCount(body: unknown, options: TranslationOptions): Translation {
  const members = requireObject(body);
  checkCount(members, options.check);
  const asked = toAsked(members as unknown as MessageCreateParamsBase, options);
  return { ...asked, body: { ...asked.body, ...othersOf(members, options) } };
}

/** What both requests have in common: what the model reads. */
function toAsked(request: MessageCreateParamsBase, options: TranslationOptions): Translation {
  const { model, system, tools, tool_choice: choice, output_config: output, thinking, stop_sequences: stops } = request;
  const input: InputItem[] = [];
  const places: number[] = [];
  for (const [index, message] of request.messages.entries()) {
    for (const item of toItems(message)) {
      input.push(item);
      places.push(index);
    }
  }
  const search = tools?.find(isSearchTool) as WebSearchTool20250305 | undefined;
  // No other tool of the service is offered.
  const mostSearches = search?.max_uses;
  const instructions = typeof system === 'string' ? system : system?.map(({ text }) => text).join('\n\n');
  const efforts = options.effortsOf(model);
  const display = displayOf(thinking, efforts);
  const effort = output?.effort ?? effortOf(thinking, efforts);
  const reasoning = {
    ...(effort === undefined ? {} : { effort }),
    ...(display === 'hidden' ? {} : { summary: 'auto' }),
  };
  const format = output?.format;
  return {
    body: {
      model,
      input,
      ...(instructions === undefined || instructions === '' ? {} : { instructions }),
      ...(tools == null ? {} : { tools: tools.map(toTool) }),
      ...(mostSearches == null ? {} : { max_tool_calls: mostSearches }),
      ...(choice == null ? {} : { tool_choice: toChoice(choice, search) }),
      ...(choice != null && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use === true
        ? { parallel_tool_calls: false }
        : {}),
      ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
      ...(format == null
        ? {}
        : { text: { format: { type: 'json_schema', name: 'output', schema: format.schema, strict: true } } }),
    },
    answer: { thinking: display, stopSequences: stops ?? [] },
    explain: (error) => toOwnPlace(error, places),
  };
}

/** Members that the door does not translate: a provider may take them (`forward`). Throws ApiError for those that are refused. */
function othersOf(members: Readonly<Record<string, unknown>>, { ignore }: TranslationOptions): object {
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    if (TRANSLATED.has(name) || value == null) continue;
    if (WITHOUT_EFFECT.has(name)) ignore(name);
    else if (UNSUPPORTED.includes(name)) {
      const message = `Unsupported parameter: '${name}' is not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param: name });
    } else if (RESPONSES_MEMBERS.has(name)) {
      const message = `Unknown parameter: '${name}'. It belongs to the Responses API.`;
      throw ApiError.of('unknown_parameter', message, { param: name });
    } else others[name] = value;
  }
  return others;
}

function toTool(tool: ToolUnion): object {
  if (isSearchTool(tool)) return toSearch(tool as WebSearchTool20250305);
  const { name, description, input_schema: parameters, strict } = tool as Tool;
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters,
    strict: strict ?? false,
  };
}

function toSearch(tool: WebSearchTool20250305): object {
  const { allowed_domains: allowed, blocked_domains: blocked, user_location: location } = tool;
  const filters = {
    ...(allowed == null ? {} : { allowed_domains: allowed }),
    ...(blocked == null ? {} : { blocked_domains: blocked }),
  };
  return {
    type: 'web_search',
    ...(Object.keys(filters).length === 0 ? {} : { filters }),
    ...(location == null ? {} : { user_location: location }),
  };
}

function toChoice(
  choice: NonNullable<MessageCreateParamsBase['tool_choice']>,
  search: WebSearchTool20250305 | undefined,
): string | object {
  if (choice.type === 'tool') {
    return choice.name === search?.name ? { type: 'web_search' } : { type: 'function', name: choice.name };
  }
  return choice.type === 'any' ? 'required' : choice.type;
}

/** A model that is known not to think would refuse to be asked for it. */
function displayOf(thinking: MessageCreateParamsBase['thinking'], efforts?: readonly string[]): ThinkingDisplay {
  if (thinking == null || thinking.type === 'disabled' || efforts?.length === 0) return 'hidden';
  return 'display' in thinking && thinking.display === 'omitted' ? 'omitted' : 'text';
}

/** Budgets of thinking, in tokens, from which on an effort is meant. */
const EFFORTS_BY_BUDGET = [
  [16_384, 'high'],
  [4096, 'medium'],
  [0, 'low'],
] as const;

/** The effort that a setting of thinking means, where the model is known to take it: others would refuse it. */
function effortOf(thinking: MessageCreateParamsBase['thinking'], known: readonly string[] = []): string | undefined {
  if (thinking?.type === 'disabled') return known.find((effort) => effort === 'none');
  if (thinking?.type !== 'enabled') return undefined;
  const { budget_tokens: budget } = thinking;
  const meant = EFFORTS_BY_BUDGET.find(([from]) => budget >= from)?.[1];
  return known.find((effort) => effort === meant);
}

/** The names of members of the Responses API in that of Anthropic. */
const NAMES: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^instructions\b/, 'system'],
  [/^max_output_tokens\b/, 'max_tokens'],
  [/^user\b/, 'metadata.user_id'],
  [/^reasoning\.effort\b/, 'output_config.effort'],
  [/^text\.format\b/, 'output_config.format'],
  [/^(tools\[\d+\])\.parameters\b/, '$1.input_schema'],
];

/** An error about the translated request as one about the request itself, as far as its parameter tells. `places` are the messages of items. */
function toOwnPlace(error: unknown, places: readonly number[]): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const { status, type, code, message, headers, cause } = error;
  const param = ownName(error.param, places);
  return new ApiError(status, type, code, param, message.replaceAll(`'${error.param}`, `'${param}`), headers, cause);
}

function ownName(param: string, places: readonly number[]): string {
  const index = /^input\[(\d+)\]/.exec(param)?.[1];
  if (index !== undefined) return `messages[${places[Number(index)] ?? 0}]`;
  if (param === 'input') return 'messages';
  const known = NAMES.find(([pattern]) => pattern.test(param));
  return known === undefined ? param : param.replace(known[0], known[1]);
}
