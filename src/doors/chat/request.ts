import type {
  ChatCompletionCreateParams,
  ChatCompletionCustomTool,
  ChatCompletionNamedToolChoice,
  ChatCompletionNamedToolChoiceCustom,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';

import { ApiError } from '../../protocol/index.js';
import type { TranslatedBody } from '../../responses/index.js';
import { compile, membersOf, requireObject } from '../../validation/index.js';
import { CacheMarks } from '../cache-marks.js';
import type { TranslationOptions } from '../door-turns.js';
import { type Place, Places, type Renaming } from '../places.js';
import { refuseMembers } from '../refuse-members.js';
import { ChatCompletionBody } from './body.js';
import { InputWriter, pick } from './items.js';

type Members = Readonly<Record<string, unknown>>;

/** A validated body. Vendors have further members. */
type ChatBody = ChatCompletionCreateParams & Members;

/** What the answer must be like. */
export interface ChatAnswerOptions {
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

/** Clients of OpenRouter send it to this API. */
const OF_GATEWAYS = ['reasoning'];

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
const RENAMED: readonly Renaming[] = [
  [/^text\.format\.(name|description|schema|strict)\b/, 'response_format.json_schema.$1'],
  [/^text\.format\b/, 'response_format'],
  [/^text\.verbosity\b/, 'verbosity'],
  [/^text\b/, 'response_format'],
  [/^reasoning(\.effort)?\b/, 'reasoning_effort'],
  [/^max_output_tokens\b/, 'max_completion_tokens'],
  [/^include\b/, 'logprobs'],
  [/^input\b(?!\[)/, 'messages'],
];

/** Members of tools as a client of Chat Completions knows them: each kind has an object of its own. */
function ofTools(tools: readonly ChatCompletionTool[]): Renaming {
  return [
    /^tools\[(\d+)\]\.(name|description|parameters|strict|format)\b/,
    (path, index = '', member = '') => {
      const kind = tools[Number(index)]?.type;
      return kind === undefined ? path : `tools[${index}].${kind}.${member}`;
    },
  ];
}

/** What stands below a part, as a client of Chat Completions knows it. */
const RENAMED_IN_PARTS: readonly Renaming[] = [[/^\.(file_data|file_id|filename)\b/, '.file.$1']];

/** A request of Chat Completions as one of the Responses API. */
export class ChatRequest implements TranslatedBody {
  readonly body: Members;
  readonly answer: ChatAnswerOptions;
  private readonly places: Iterable<Place>;
  private readonly tools: readonly ChatCompletionTool[];

  /**
   * Throws ApiError 400, which names the parameter, for the first violation and for what a turn cannot say; nothing is left out in silence.
   */
  constructor(given: unknown, options: TranslationOptions) {
    const members = requireObject(given);
    refuseMembers(members, KNOWN, options, OF_GATEWAYS);
    check(members, options.check);
    const asked = members as unknown as ChatBody;
    refuseUnsupported(asked, options);
    const marks = new CacheMarks(asked.model, options, options.check.unknownParameters === 'reject');
    const { input, places } = new InputWriter(asked.messages, marks);
    this.places = places;
    this.tools = asked.tools ?? [];
    this.answer = toAnswerOptions(asked);
    this.body = {
      ...pick(asked, SAME),
      input,
      ...toTools(asked, options),
      ...toText(asked),
      ...toLogprobs(asked),
      ...(asked.reasoning_effort == null ? {} : { reasoning: { effort: asked.reasoning_effort } }),
      ...toLimit(asked),
      store: asked.store ?? options.storesByDefault,
      ...pick(asked, options.forwarded),
    };
  }

  /** An error of the turn in the terms of the request. */
  explain(error: unknown): unknown {
    // Made only now: few requests are refused.
    const places = new Places(this.places, [ofTools(this.tools), ...RENAMED], RENAMED_IN_PARTS);
    const own = places.explain(error);
    if (!(own instanceof ApiError) || own === error) return own;
    const message = own.message.replaceAll("'text.format'", "'response_format'");
    return new ApiError(own.status, own.type, own.code, own.param, message, own.headers, own.cause);
  }
}

function toAnswerOptions({ stop, logprobs, stream_options: options }: ChatBody): ChatAnswerOptions {
  return {
    logprobs: logprobs === true,
    stops: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((text) => text !== ''),
    includeUsage: options?.include_usage === true,
    obfuscate: options?.include_obfuscation !== false,
  };
}

function refuseUnsupported(body: ChatBody, { check: { unknownParameters }, forwardedTo }: TranslationOptions): void {
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

function toTools({ tools, tool_choice: choice }: ChatBody, { withTools }: TranslationOptions): Members {
  const offered = withTools((tools ?? []).map(toTool));
  return {
    ...(tools == null && offered.length === 0 ? {} : { tools: offered }),
    ...(choice == null ? {} : { tool_choice: toChoice(choice) }),
  };
}

/** Only members that are named: `type`, for example, would make another tool of it. */
function toTool(tool: ChatCompletionTool): Members {
  if (tool.type === 'function') {
    return { type: tool.type, ...pick(tool.function, ['name', 'description', 'parameters', 'strict']) };
  }
  const { format } = tool.custom;
  return {
    type: tool.type,
    ...pick(tool.custom, ['name', 'description']),
    ...(format == null ? {} : { format: toFormat(format) }),
  };
}

function toFormat(format: NonNullable<ChatCompletionCustomTool.Custom['format']>): Members {
  if (format.type !== 'grammar') return { type: format.type };
  const { definition, syntax } = format.grammar;
  return { type: format.type, definition, syntax };
}

function toChoice(choice: NonNullable<ChatBody['tool_choice']>): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return toNamed(choice);
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed_tools', mode, tools: (tools as unknown as readonly NamedTool[]).map(toNamed) };
}

type NamedTool = ChatCompletionNamedToolChoice | ChatCompletionNamedToolChoiceCustom;

/** `{type:"function",function:{name}}` as `{type:"function",name}`. */
function toNamed(choice: NamedTool): Members {
  const { name } = choice.type === 'function' ? choice.function : choice.custom;
  return { type: choice.type, name };
}

function toText({ response_format: format, verbosity }: ChatBody): Members {
  if (format == null && verbosity == null) return {};
  return {
    text: {
      ...(format == null ? {} : { format: toTextFormat(format) }),
      ...(verbosity == null ? {} : { verbosity }),
    },
  };
}

function toTextFormat(format: NonNullable<ChatBody['response_format']>): Members {
  if (format.type !== 'json_schema') return { type: format.type };
  return { type: format.type, ...pick(format.json_schema, ['name', 'description', 'schema', 'strict']) };
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
