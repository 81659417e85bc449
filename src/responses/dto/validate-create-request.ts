import type { CreateResponseRequest } from '../../protocol/index.js';
import {
  type CheckOptions,
  compile,
  isObject,
  membersOf,
  refuseUnknown,
  requireObject,
  type Validate,
} from '../../validation/index.js';
import { refuseChatCompletions } from './chat-completions-members.js';
import { CreateEventBody } from './create-event-body.js';
import { CreateRequestBody } from './create-request-body.js';
import {
  refuseTwoHistories,
  requireInput,
  requireMentionOfJson,
  requireSomethingToAnswer,
  requireToolsOfChoice,
} from './cross-checks.js';
import { refuseMisplacedTrigger } from './context-management.js';
import { refuseUnbuiltFeatures } from './refuse-unbuilt-features.js';
import { requireModel } from './require-model.js';

const HTTP_BODY = { check: compile(CreateRequestBody), members: membersOf(CreateRequestBody) };
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
  readonly isWarmUp: boolean;
}

/**
 * Checks the body of `POST /responses` and returns the same object, unchanged. Violations are reported in the order of
 * protocol §2; what depends on stored state or on the model is checked elsewhere.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateCreateRequest(body: unknown, options: CreateOptions): CreateResponseRequest {
  return validate(requireObject(body), options, { ...HTTP_BODY, isWarmUp: false });
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
  const generate = members.generate !== false && !isPrewarm(members.prompt_cache_options);
  const request = validate(members, options, { ...EVENT_BODY, isWarmUp: !generate });
  const { session_id: sessionId } = members as Pick<CreateEventBody, 'session_id'>;
  return { request, generate, sessionId: sessionId ?? undefined };
}

function validate(
  members: Record<string, unknown>,
  options: CreateOptions,
  { check, members: known, isWarmUp }: RequestKind,
): CreateResponseRequest {
  const { toleratedFor, forwarded, ...given } = options;
  requireModel(members, given);
  refuseChatCompletions(members, given, forwarded);
  if (!isWarmUp) requireInput(members);
  const unknown = refuseUnknown(members, known, given, forwarded);
  if (unknown !== null) throw unknown.toError();
  const request = members as unknown as CreateResponseRequest;
  const rules: CheckOptions = { ...given, tolerated: toleratedFor?.(request.model) };
  check(members, rules);
  refuseTwoHistories(request);
  refuseMisplacedTrigger(request.input);
  refuseUnbuiltFeatures(request, isWarmUp);
  if (!isWarmUp) requireSomethingToAnswer(request);
  requireToolsOfChoice(request, rules);
  if (!isWarmUp) requireMentionOfJson(request, rules);
  return request;
}

/** `prewarm` is another way to ask for a warm-up (protocol §6.4). */
function isPrewarm(cacheOptions: unknown): boolean {
  return isObject(cacheOptions) && cacheOptions.prewarm === true;
}
