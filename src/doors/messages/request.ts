import type { JSONOutputFormat, MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages';

import { ApiError } from '../../protocol/index.js';
import type { TranslatedBody } from '../../responses/index.js';
import { compile, membersOf, requireObject } from '../../validation/index.js';
import { CACHE_MARK, CacheMarks } from '../cache-marks.js';
import type { TranslationOptions } from '../door-turns.js';
import { refuseMembers } from '../refuse-members.js';
import { Places, renameWith, type Renaming } from '../places.js';
import { type Placed, toItems } from './items.js';
import type { McpServer, PlacedTool } from './mcp-servers.js';
import { CountTokensBody, isSearchTool, MessagesBody } from './messages-body.js';
import type { ShownTools } from './server-tools.js';
import { searchIn, toChoice, toTools } from './tools.js';

const checkMessages = compile(MessagesBody);
const checkCount = compile(CountTokensBody);

const TRANSLATED = membersOf(MessagesBody);
const COUNTED = membersOf(CountTokensBody);

/** Members that change nothing that a client could see here. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...['betas', CACHE_MARK, 'context_management', 'diagnostics', 'inference_geo', 'speed'],
  ...['billing_policy', 'fallback_credit_token', 'fallbacks', 'user_profile_id', 'workspace_id'],
]);

/** Members that would change the answer, and that only Anthropic can serve. */
const UNSUPPORTED = ['compaction', 'container', 'thread'];

const KNOWN: ReadonlySet<string> = new Set([...TRANSLATED, ...WITHOUT_EFFECT, ...UNSUPPORTED]);

/** How thinking is shown: with its text, without it, or not at all. */
type ThinkingDisplay = 'text' | 'omitted' | 'hidden';

/** How a request wants to be answered, beyond what the turn knows of it. */
export interface MessageOptions {
  readonly thinking: ThinkingDisplay;
  readonly stopSequences: readonly string[];
  readonly shown: ShownTools;
}

/** A translated request. */
export interface Translation extends TranslatedBody {
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: MessageOptions;
}

/** What both requests have in common; the SDK has servers in its beta only. */
interface CommonRequest extends MessageCreateParamsBase {
  readonly mcp_servers?: readonly McpServer[] | null;
  /** As clients named `output_config.format` before. */
  readonly output_format?: JSONOutputFormat | null;
}

/** A checked body. The types of the SDK have lost what only older models take. */
interface MessagesRequest extends CommonRequest {
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
  refuseMembers(members, KNOWN, options);
  checkMessages(members, options.check);
  const request = members as unknown as MessagesRequest;
  const { max_tokens: maxTokens, temperature, top_p: topP, metadata, service_tier: tier } = request;
  const asked = toAsked(request, options);
  const mostSearches = mostSearchesOf(request);
  return {
    ...asked,
    body: {
      ...asked.body,
      ...othersOf(members, TRANSLATED, options),
      ...(mostSearches == null ? {} : { max_tool_calls: mostSearches }),
      max_output_tokens: maxTokens,
      stream: request.stream ?? false,
      store: options.storesByDefault,
      ...(temperature == null ? {} : { temperature }),
      ...(topP == null ? {} : { top_p: topP }),
      ...(metadata?.user_id == null ? {} : { user: metadata.user_id }),
      ...(tier == null ? {} : { service_tier: tier === 'standard_only' ? 'default' : 'auto' }),
      include: [
        ...(asked.answer.thinking === 'hidden' ? [] : ['reasoning.encrypted_content']),
        ...(asked.answer.shown.search ? ['web_search_call.results'] : []),
      ],
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
  refuseMembers(members, KNOWN, options);
  checkCount(members, options.check);
  const asked = toAsked(members as unknown as CommonRequest, options);
  return { ...asked, body: { ...asked.body, ...othersOf(members, COUNTED, options) } };
}

/** What both requests have in common: what the model reads. */
function toAsked(request: CommonRequest, options: TranslationOptions): Translation {
  const { model, system, tools, tool_choice: choice, output_config: output, thinking, stop_sequences: stops } = request;
  const marks = new CacheMarks(model, options);
  const said = toItems(request.messages, { marks, ignore: options.ignore });
  if (said.length === 0) throw nothingSaid();
  const { instructions, items } = toSystem(system, marks);
  const placed = [...items, ...said];
  for (const [index, tool] of (tools ?? []).entries()) marks.keep(tool, [], `tools[${index}]`);
  const placedTools = toTools(request, options.ignore);
  const offered = options.withTools(placedTools.map(({ tool }) => tool));
  const efforts = thinking == null ? undefined : options.effortsOf(model);
  const display = displayOf(thinking, efforts);
  const effort = output?.effort ?? effortOf(thinking, efforts);
  const reasoning = {
    ...(effort === undefined ? {} : { effort }),
    ...(display === 'hidden' ? {} : { summary: 'auto' }),
  };
  if (output != null && 'task_budget' in output) options.ignore('output_config.task_budget');
  const format = output?.format ?? request.output_format;
  return {
    body: {
      model,
      input: placed.map(([item]) => item),
      ...(instructions === '' ? {} : { instructions }),
      ...(tools == null && offered.length === 0 ? {} : { tools: offered }),
      ...(choice == null ? {} : { tool_choice: toChoice(choice, searchIn(tools)) }),
      ...(choice != null && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use === true
        ? { parallel_tool_calls: false }
        : {}),
      ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
      ...(format == null
        ? {}
        : { text: { format: { type: 'json_schema', name: 'output', schema: format.schema, strict: true } } }),
    },
    answer: {
      thinking: display,
      stopSequences: stops ?? [],
      shown: {
        search: searchIn(tools) !== undefined,
        servers: new Set((request.mcp_servers ?? []).map(({ name }) => name)),
      },
    },
    // Few requests are refused.
    explain: (error) => placesOf(placed, placedTools, tools).explain(error),
  };
}

/** Where what is said, and what may be called, stands in the request. */
function placesOf(
  placed: readonly Placed[],
  placedTools: readonly PlacedTool[],
  tools: MessageCreateParamsBase['tools'],
): Places {
  return new Places(
    placed.map(([, place]) => place),
    [
      [/^max_tool_calls\b/, `tools[${tools?.findIndex(isSearchTool) ?? 0}].max_uses`],
      [/^tools\[(\d+)\](.*)$/s, (_, index, rest = '') => toolPath(placedTools[Number(index)], rest)],
      ...NAMES,
    ],
    NAMES_IN_PARTS,
  );
}

/** What the system says: instructions or, where a prefix of it may be cached, a message, since only parts can be marked. */
function toSystem(
  system: MessageCreateParamsBase['system'],
  marks: CacheMarks,
): { readonly instructions: string; readonly items: readonly Placed[] } {
  if (system == null || typeof system === 'string') return { instructions: system ?? '', items: [] };
  const parts = system.flatMap((block, index) =>
    marks.keep(block, [{ type: 'input_text', text: block.text }], `system[${index}]`),
  );
  if (!system.some((block) => marks.takes(block))) {
    return { instructions: system.map(({ text }) => text).join('\n\n'), items: [] };
  }
  const place = { path: 'system', parts: system.map((_, index) => `system[${index}]`) };
  return { instructions: '', items: [[{ type: 'message', role: 'system', content: parts }, place]] };
}

/** Blocks that are left out may have been all. */
function nothingSaid(): ApiError {
  const message =
    "Invalid 'messages': nothing is said. Expected a message with a text, an image, a document, a call or a result.";
  return ApiError.of('invalid_value', message, { param: 'messages' });
}

/** The most searches, which are counted together with other calls of the service. Throws ApiError where the request has others. */
function mostSearchesOf({ tools, mcp_servers: servers }: MessagesRequest): number | null {
  const most = searchIn(tools)?.max_uses ?? null;
  if (most === null || servers == null || servers.length === 0) return most;
  const param = `tools[${tools?.findIndex(isSearchTool)}].max_uses`;
  const message = `Unsupported parameter: '${param}' beside 'mcp_servers': their calls would count as searches. Remove one of them.`;
  throw ApiError.of('unsupported_parameter', message, { param });
}

/** Members that the door does not translate: a provider may take them (`forward`). Throws ApiError for those that are refused. */
function othersOf(
  members: Readonly<Record<string, unknown>>,
  translated: ReadonlySet<string>,
  { ignore, check, forwarded, forwardedTo }: TranslationOptions,
): object {
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    if (translated.has(name) || value == null) continue;
    if (TRANSLATED.has(name)) {
      if (check.unknownParameters !== 'reject') ignore(name);
      else
        throw ApiError.of(
          'unknown_parameter',
          `Unknown parameter: '${name}'. A count of tokens generates nothing: leave it out.`,
          { param: name },
        );
    } else if (WITHOUT_EFFECT.has(name) && !forwardedTo(String(members['model'])).has(name)) ignore(name);
    else if (UNSUPPORTED.includes(name)) {
      const message = `Unsupported parameter: '${name}' is not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param: name });
    } else if (forwarded.has(name)) others[name] = value;
  }
  return others;
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
const NAMES: readonly Renaming[] = [
  [/^instructions\b/, 'system'],
  [/^max_output_tokens\b/, 'max_tokens'],
  [/^user\b/, 'metadata.user_id'],
  [/^reasoning\.effort\b/, 'output_config.effort'],
  [/^(?:reasoning|include)\b.*/, 'thinking'],
  [/^text\.format\b/, 'output_config.format'],
  [/^parallel_tool_calls\b/, 'tool_choice.disable_parallel_tool_use'],
  [/^input\b/, 'messages'],
];

/** What stands below a tool, as a client of Messages knows it. */
const NAMES_IN_TOOLS: readonly Renaming[] = [
  [/^\.parameters\b/, '.input_schema'],
  [/^\.filters\./, '.'],
];

/** What stands below the tool of a server, as a client of Messages knows it. */
const NAMES_IN_SERVERS: readonly Renaming[] = [
  [/^\.server_url\b/, '.url'],
  [/^\.server_label\b/, '.name'],
  [/^\.authorization\b/, '.authorization_token'],
  [/^.+/s, ''],
];

/** The place of a tool, and of what stands below it. What DOOR_TOOLS has added stands nowhere. */
function toolPath(placed: PlacedTool | undefined, rest: string): string {
  if (placed === undefined) return 'tools';
  const names = placed.path.startsWith('mcp_servers') ? NAMES_IN_SERVERS : NAMES_IN_TOOLS;
  return placed.path + renameWith(names, rest);
}

/** What stands below a part, as a client of Messages knows it. */
const NAMES_IN_PARTS: readonly Renaming[] = [[/^\.(?:image_url|file_\w+|filename)\b.*/, '.source']];
