import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { type CheckOptions, compile, isObject, membersOf, type Validate } from '../../validation/index.js';
import { CreateEventBody } from './create-event-body.js';
import { CreateRequestBody, ModelMember } from './create-request-body.js';
import {
  refuseTwoHistories,
  requireInput,
  requireMentionOfJson,
  requireSomethingToAnswer,
  requireToolsOfChoice,
} from './cross-checks.js';
import { requireReadableBody } from './readable-body.js';
import { refuseUnbuiltFeatures } from './refuse-unbuilt-features.js';

const requireModel = compile(ModelMember);
const checkMembers = compile(CreateRequestBody);
const checkEventMembers = compile(CreateEventBody);
const apiMembers = membersOf(CreateRequestBody);

/** Options of a validation. */
export interface CreateOptions extends Omit<CheckOptions, 'tolerated'> {
  /** The rules that do not apply to requests for a model. */
  readonly toleratedFor?: (model: string) => ReadonlySet<string>;
  /** Further members that a provider accepts unchanged (docs/providers.md). */
  readonly forwarded?: ReadonlySet<string>;
}

function refuseChatCompletions(body: object, { unknownParameters }: CheckOptions): void {
  if (unknownParameters === 'ignore' || !Object.hasOwn(body, 'messages')) return;
  throw ApiError.of(
    'unsupported_parameter',
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
  );
}

/**
 * Checks the body of `POST /responses` and returns the same object, unchanged. Violations are reported in the order of
 * protocol §2; what depends on stored state or on the model is checked elsewhere.
 *
 * @throws ApiError with status 400 for the first violation
 */
export function validateCreateRequest(body: unknown, options: CreateOptions): CreateResponseRequest {
  return validate(requireReadableBody(body), options, checkMembers, false);
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
  const members = requireReadableBody(body);
  const generate = members.generate !== false && !isPrewarm(members.prompt_cache_options);
  const request = validate(members, options, checkEventMembers, !generate);
  const { session_id: sessionId } = members as Pick<CreateEventBody, 'session_id'>;
  return { request, generate, sessionId: sessionId ?? undefined };
}

function validate(
  members: Record<string, unknown>,
  options: CreateOptions,
  check: Validate,
  isWarmUp: boolean,
): CreateResponseRequest {
  requireModel(members, options);
  if (members.model === '') {
    const message = "The requested model '' does not exist.";
    throw new ApiError(400, 'invalid_request_error', 'model_not_found', 'model', message);
  }
  if (!isWarmUp) requireInput(members);
  refuseChatCompletions(members, options);
  const request = members as unknown as CreateResponseRequest;
  const { unknownParameters, toleratedFor } = options;
  const rules = { unknownParameters, tolerated: toleratedFor?.(request.model) };
  check(withoutForwarded(members, options), rules);
  refuseTwoHistories(request);
  refuseUnbuiltFeatures(request, isWarmUp);
  if (!isWarmUp) requireSomethingToAnswer(request);
  requireToolsOfChoice(request, rules);
  if (!isWarmUp) requireMentionOfJson(request, rules);
  return request;
}

/** Removes forwarded members, so that a closed class accepts them. */
function withoutForwarded(members: Record<string, unknown>, { unknownParameters, forwarded }: CreateOptions): object {
  if (unknownParameters === 'ignore' || forwarded === undefined || forwarded.size === 0) return members;
  return Object.fromEntries(Object.entries(members).filter(([name]) => apiMembers.has(name) || !forwarded.has(name)));
}

/** `prewarm` is another way to ask for a warm-up (protocol §6.4). */
function isPrewarm(cacheOptions: unknown): boolean {
  return isObject(cacheOptions) && cacheOptions.prewarm === true;
}
