import { CONTEXT_TOO_LONG, IMAGE_ERRORS } from '../../protocol/index.js';
import { ModelError, type ModelErrorOptions } from '../model-error.js';
import { quotesSecret } from '../redact.js';
import { scrub } from '../scrub.js';
import type { UpstreamFailure } from './error-body.js';
import { readAdvice } from './retry-after.js';

/** What an error for the client depends on besides the failure. */
export interface FailureContext {
  /** Values to redact, such as keys. */
  readonly secrets: readonly string[];
  readonly retryAfterMs: number | undefined;
}

/** Clients such as Codex retry only if the error states a delay. */
const DEFAULT_RETRY_AFTER_MS = 1000;

const BUSY = 'The model is overloaded. Please retry your request.';

/** Messages for a transcript that exceeds the context window, and types of such errors; few upstreams have a code for it. */
const TOO_LONG = [
  /context.{0,12}(?:length|window|size|limit)|exceed_context_size/i,
  /(?:maximum|max).{0,20}(?:context|sequence|prompt|input) ?length|range of input length/i,
  /too many (?:input |prompt )?tokens|model's max(?:imum)?.{0,20}token|model token limit/i,
  /(?:prompt|input).{0,20}(?:too long|exceeds? max(?:imum)? length)/i,
  /(?:prompt|input) tokens?\b.{0,40}(?:exceed|only supports)/i,
  /`inputs`.{0,60}(?:<=|less than)|reduce the length of the (?:messages|prompt|input)/i,
];

/** Limits on the tokens of some time, which shorter requests may keep later. */
const PER_TIME = /per (?:second|minute|hour|day)\b|rate limit/i;

/** Messages for images and sounds that the model cannot read. llama.cpp sends them with status 500. */
const UNREADABLE =
  /\b(?:images?|audio|video|vision|multimodal)\b.{0,40}\bnot supported\b|does not support (?:images?|audio|video|vision|multimodal)\b|not a multimodal model|failed to load image or audio/i;

/** The form of error codes, which has no room for addresses. */
export const ERROR_CODE = /^[a-z][a-z0-9_]{2,63}$/;

/** Codes of exhausted quotas, for which a retry does not help (protocol §7). */
const QUOTA = /^(?:insufficient_quota|credit_balance_exhausted|\w+_spend_limit_exceeded|\w+_usage_limit_exceeded)$/;

/** Whether a code or a type says that a quota is exhausted. */
export function isQuotaCode(name: string | null): boolean {
  return name !== null && QUOTA.test(name);
}

/** Request members with the same name in both protocols. */
const SHARED_PARAMS =
  /^(?:model|temperature|top_p|presence_penalty|frequency_penalty|top_logprobs|tools|tool_choice|parallel_tool_calls|metadata|user)(?=$|[.[])/;

/** Translates an upstream's failure and HTTP status into the error for the client (protocol §7). */
export function toModelError(status: number, told: UpstreamFailure, context: FailureContext): ModelError {
  const isSafe = (name: string | null): boolean => name !== null && !quotesSecret(name, context.secrets);
  const failure = { ...told, code: isSafe(told.code) ? told.code : null, type: isSafe(told.type) ? told.type : null };
  const cause = new Error(`HTTP ${status}: ${scrub(failure.message, context.secrets)}`);
  if (status === 429) return rateLimit(failure, context, cause);
  if (status === 401 || status === 402 || status === 403) {
    return new ModelError('server_error', "The model's server denied access to this service.", {
      status: 500,
      retry: 'other',
      cause,
    });
  }
  if (status === 404) {
    return new ModelError('model_not_found', "The model's server does not have this model.", {
      status: 404,
      param: 'model',
      retry: 'other',
      cause,
    });
  }
  if (status === 503 || status === 529) {
    return new ModelError('server_is_overloaded', BUSY, { status: 503, ...delaysOf(failure, context), cause });
  }
  if (IMAGE_ERRORS.has(failure.code)) return badRequest(400, failure, context, cause);
  if (status < 400) return serverError('The model failed. Please retry your request.', cause, { retry: 'other' });
  if (isTooLong(status, failure)) return tooLong(cause);
  if (status >= 400 && status < 500 && status !== 408) return badRequest(status, failure, context, cause);
  if (status === 501 || UNREADABLE.test(failure.message)) return unsupported(failure, context, cause);
  return serverError('The model failed. Please retry your request.', cause);
}

/** A ModelError `server_error`, for failures that the client cannot correct. */
export function serverError(message: string, cause: unknown, options: ModelErrorOptions = {}): ModelError {
  return new ModelError('server_error', message, { status: 500, cause, ...options });
}

function rateLimit(failure: UpstreamFailure, context: FailureContext, cause: Error): ModelError {
  const quota = [failure.code, failure.type].find(isQuotaCode);
  if (quota != null) {
    const message = 'You exceeded your current quota.';
    return new ModelError(quota, message, { status: 429, type: 'insufficient_quota', retry: 'other', cause });
  }
  const message = 'Rate limit of the model reached. Please retry your request.';
  return new ModelError('rate_limit_exceeded', message, { status: 429, ...delaysOf(failure, context), cause });
}

/** The delay of the headers, in the details, or in the words. */
function delaysOf({ message, retryDelay = '' }: UpstreamFailure, context: FailureContext): ModelErrorOptions {
  const retryAfterMs = context.retryAfterMs ?? readAdvice(`retry in ${retryDelay}`) ?? readAdvice(message);
  return { retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS, upstreamWaitMs: retryAfterMs ?? 0 };
}

/** Whether an upstream says that the context is too long, in whatever words. */
export function isTooLong(status: number, { code, type, message }: UpstreamFailure): boolean {
  if (code === 'context_length_exceeded') return true;
  const words = `${type} ${message}`;
  return [400, 413, 422, 500].includes(status) && TOO_LONG.some((each) => each.test(words)) && !PER_TIME.test(words);
}

function tooLong(cause: Error): ModelError {
  const options: ModelErrorOptions = { status: 400, param: 'input', retry: 'nowhere', cause };
  return new ModelError('context_length_exceeded', CONTEXT_TOO_LONG, options);
}

/** A 5xx that is the fault of the request: another upstream may support what this one does not. */
function unsupported(failure: UpstreamFailure, context: FailureContext, cause: Error): ModelError {
  const param = UNREADABLE.test(failure.message) ? 'input' : paramOf(failure);
  const options: ModelErrorOptions = { status: 400, param, retry: 'other', cause };
  return new ModelError('unsupported_value', rejection(failure, context), options);
}

function badRequest(status: number, failure: UpstreamFailure, context: FailureContext, cause: Error): ModelError {
  const code = failure.code !== null && ERROR_CODE.test(failure.code) ? failure.code : 'invalid_value';
  return new ModelError(code, rejection(failure, context), {
    status: status === 413 ? 413 : 400,
    param: paramOf(failure),
    cause,
  });
}

function rejection({ message }: UpstreamFailure, { secrets }: FailureContext): string {
  const words = scrub(message, secrets);
  return words === '' ? 'The model rejected this request.' : `The model rejected this request: ${words}`;
}

function paramOf({ param }: UpstreamFailure): string | null {
  if (param === null) return null;
  return param.startsWith('messages') ? 'input' : (SHARED_PARAMS.exec(param)?.[0] ?? null);
}
