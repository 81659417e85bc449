import { ApiError, type CreateResponseRequest, refuseMisplacedTrigger } from '../../protocol/index.js';
import {
  type CheckOptions,
  compile,
  isObject,
  membersOf,
  refuseUnknown,
  requireObject,
  type Validate,
} from '../../validation/index.js';
import { CreateEventBody } from './create-event-body.js';
import { CreateRequestBody } from './create-request-body.js';
import {
  refuseTwoHistories,
  requireInput,
  requireMentionOfJson,
  requireSomethingToAnswer,
  requireToolsOfChoice,
} from './cross-checks.js';
import { COUNTED_MEMBERS, InputTokensBody } from './input-tokens-body.js';
import { refuseWithoutModel } from './refuse-without-model.js';

/** Members of a Chat Completions request, with their names in the Responses API; null for those without one. */
const CHAT_MEMBERS: readonly (readonly [name: string, replacement: string | null])[] = [
  ['messages', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['stop', null],
  ['n', null],
  ['seed', null],
  ['logprobs', null],
  ['logit_bias', null],
  ['modalities', null],
  ['audio', null],
  ['prediction', null],
  ['web_search_options', null],
];

/** Only useful over a socket, where it asks for a warm-up. */
const PREWARM = 'prompt_cache_options.prewarm';

/** Unsupported features: ignoring them would change the meaning of the request (docs/decisions/2026-11-21-protocol-choices.md). */
const UNBUILT: readonly { readonly param: string; readonly isUsed: (request: CreateResponseRequest) => boolean }[] = [
  { param: 'moderation', isUsed: ({ moderation }) => moderation != null },
  { param: 'multi_agent', isUsed: ({ multi_agent }) => multi_agent?.enabled === true },
  { param: 'input_transformations', isUsed: (request) => has(request, 'input_transformations') },
  {
    param: 'prompt_cache_options.comparison_response_id',
    isUsed: ({ prompt_cache_options }) => prompt_cache_options?.comparison_response_id != null,
  },
  {
    param: PREWARM,
    isUsed: ({ prompt_cache_options }) => prompt_cache_options?.prewarm === true,
  },
];

/** Forwarded where clients of Anthropic's models put them: in any part (docs/chat-completions.md). */
const CACHE_MARKS: ReadonlySet<string> = new Set(['cache_control']);

const HTTP_BODY = { check: compile(CreateRequestBody), members: membersOf(CreateRequestBody) };
const COUNT_BODY = { check: compile(InputTokensBody), members: COUNTED_MEMBERS };
const EVENT_BODY = { check: compile(CreateEventBody), members: membersOf(CreateEventBody) };

/** Options of a validation. */
export interface CreateOptions extends Omit<CheckOptions, 'tolerated'> {
  /** The rules that do not apply to requests for a model. */
  readonly toleratedFor?: (model: string) => ReadonlySet<string>;
  /** Further members that a provider accepts unchanged (docs/providers.md). */
  readonly forwarded?: ReadonlySet<string>;
}

/** What kind of request is validated. */
interface RequestKind {
  readonly check: Validate;
  /** The members that the API knows. */
  readonly members: ReadonlySet<string>;
  /** Whether a model is asked; otherwise it needs no input. */
  readonly asksModel: boolean;
}

/**
 * Checks the body of `POST /responses` and returns the same object, unchanged. Violations are reported in the order of
 * protocol §2; what depends on stored state or on the model is checked elsewhere.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateCreateRequest(body: unknown, options: CreateOptions): CreateResponseRequest {
  return validate(requireObject(body), options, { ...HTTP_BODY, asksModel: true });
}

/** A validated `response.create`. */
export interface CreateEvent {
  readonly request: CreateResponseRequest;
  /** False for a warm-up (protocol §6.4). */
  readonly generate: boolean;
  /** The session that the body names. */
  readonly sessionId: string | undefined;
}

/**
 * Checks a `response.create` without its envelope, like the body of `POST /responses`. A warm-up needs no input.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateCreateEvent(body: unknown, options: CreateOptions): CreateEvent {
  const members = requireObject(body);
  const generate = !isWarmUp(members);
  const request = validate(members, options, { ...EVENT_BODY, asksModel: generate });
  const { session_id: sessionId } = members as Pick<CreateEventBody, 'session_id'>;
  return { request, generate, sessionId: sessionId ?? undefined };
}

/**
 * Checks the body of `POST /responses/input_tokens` like that of `POST /responses`, without the members that do not count (protocol §1.1):
 * they are refused only where unknown members are. It needs no input.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateInputTokensRequest(body: unknown, options: CreateOptions): CreateResponseRequest {
  const members = requireObject(body);
  const counted = options.unknownParameters === 'reject' ? members : withoutUncounted(members, options.forwarded);
  return validate(counted, options, { ...COUNT_BODY, asksModel: false });
}

function withoutUncounted(members: Record<string, unknown>, forwarded?: ReadonlySet<string>): Record<string, unknown> {
  const isUncounted = (name: string): boolean =>
    HTTP_BODY.members.has(name) && !COUNTED_MEMBERS.has(name) && forwarded?.has(name) !== true;
  return Object.fromEntries(Object.entries(members).filter(([name]) => !isUncounted(name)));
}

function validate(
  members: Record<string, unknown>,
  options: CreateOptions,
  { check, members: known, asksModel }: RequestKind,
): CreateResponseRequest {
  const { unknownParameters, typos, toleratedFor, forwarded } = options;
  refuseWithoutModel(members, options);
  refuseChatCompletions(members, options, forwarded);
  if (asksModel) requireInput(members);
  const unknown = refuseUnknown(members, known, options, forwarded);
  if (unknown !== null) throw unknown.toError();
  const request = members as unknown as CreateResponseRequest;
  const anywhere = forwarded?.has('cache_control') === true ? CACHE_MARKS : undefined;
  const rules: CheckOptions = { unknownParameters, typos, anywhere, tolerated: toleratedFor?.(request.model) };
  check(members, rules);
  refuseTwoHistories(request);
  refuseMisplacedTrigger(request.input);
  refuseUnbuiltFeatures(request, !asksModel);
  if (asksModel) requireSomethingToAnswer(request);
  requireToolsOfChoice(request, rules);
  if (asksModel) requireMentionOfJson(request, rules);
  return request;
}

/** Whether a `response.create` asks for a warm-up, by `generate` or by `prewarm` (protocol §6.4); it need not be validated. */
export function isWarmUp({ generate, prompt_cache_options: cache }: Readonly<Record<string, unknown>>): boolean {
  return generate === false || (isObject(cache) && cache.prewarm === true);
}

/**
 * Refuses members of Chat Completions, those that have moved first: in a request that was written for the other API
 * they say most. A member that a provider takes is its own.
 *
 * @throws ApiError 400 `unsupported_parameter` or `unknown_parameter`, in OpenAI's words
 */
function refuseChatCompletions(
  body: object,
  { unknownParameters }: CheckOptions,
  forwarded?: ReadonlySet<string>,
): void {
  if (unknownParameters === 'ignore') return;
  for (const [name, replacement] of CHAT_MEMBERS) {
    if (!Object.hasOwn(body, name) || forwarded?.has(name) === true) continue;
    if (replacement === null) {
      const message = `Unknown parameter: '${name}'. It belongs to Chat Completions, and the Responses API has no counterpart.`;
      throw ApiError.of('unknown_parameter', message, { param: name });
    }
    const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${replacement}'.`;
    throw ApiError.of('unsupported_parameter', message);
  }
}

/** Refuses features that this service does not support yet. */
function refuseUnbuiltFeatures(request: CreateResponseRequest, isWarmUp: boolean): void {
  for (const { param, isUsed } of UNBUILT) {
    if (isUsed(request) && !(isWarmUp && param === PREWARM)) {
      const message = `Unsupported parameter: '${param}' is not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param });
    }
  }
}

/** Members that the types of the SDK do not have yet. */
function has(request: object, name: string): boolean {
  return (Reflect.get(request, name) ?? null) !== null;
}
