import { ModelError, type RetryHint } from '../../model-error.js';
import { scrub } from '../../scrub.js';
import { ERROR_CODE, isQuotaCode, isTooLong, serverError, toModelError } from '../../upstream-errors/to-model-error.js';
import { unreachable } from '../../upstream-errors/unreachable.js';
import { BROKEN, SILENT, UNREADABLE } from '../../upstream-http/exchange-error.js';
import { UpstreamTimeoutError } from '../../upstream-http/exchange-timer.js';
import type { UpstreamError } from '../upstream-error.js';

/** What the client's error depends on besides the upstream's. */
export interface ClientErrorContext {
  /** Values to redact. */
  readonly secrets: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the official SDKs must not repeat the request, because this service has. */
  readonly wasRepeated: boolean;
  /** Whether the answer had begun: who has not shown it to anybody may ask the same upstream for another one. */
  readonly hasBegun?: boolean;
}

/** The HTTP status of an error that the upstream reported in its stream; 500 for others. */
const STATUS_OF_CODE: Readonly<Partial<Record<string, number>>> = {
  context_length_exceeded: 400,
  invalid_prompt: 400,
  invalid_image: 400,
  invalid_request_error: 400,
  content_policy_violation: 400,
  cyber_policy: 400,
  bio_policy: 400,
  misalignment_policy_violation: 400,
  invalid_audio: 400,
  audio_too_large: 400,
  previous_response_not_found: 400,
  model_not_found: 404,
  rate_limit_exceeded: 429,
  slow_down: 429,
  usage_not_included: 429,
  budget_reached: 429,
  flex_unavailable: 429,
  server_is_overloaded: 503,
};

/** Statuses that concern the account or the address of this service at the upstream: their words are not shown. */
const OWN_STATUSES = new Set([401, 402, 403, 404]);

/** Codes of limits of this service's account. Other codes with status 429, such as `flex_unavailable`, are about the request. */
const OWN_LIMITS: ReadonlySet<string | null> = new Set([null, 'rate_limit_exceeded', 'slow_down']);

/** A place in a request, such as `input[3].content[0].text`. */
const PARAM = /^[A-Za-z_][\w.[\]-]{0,127}$/;

const FAILED = 'The model failed. Please retry your request.';

/**
 * The error for the client: the code and the words of the upstream, which speaks the same protocol, without addresses and credentials.
 * Errors of this service's own account at the upstream, such as its rate limits, have messages of this service.
 */
export function toClientError(error: UpstreamError, context: ClientErrorContext): ModelError {
  const { secrets, now, wasRepeated, hasBegun = false } = context;
  const { failure, status: given = null, statedAt, remedy, isUnreachable = false } = error.options;
  const shouldRetry = wasRepeated ? { shouldRetry: false } : {};
  if (isUnreachable) return withOptions(unreachable(error), shouldRetry);
  // A parent that is not the client's, or was not sent: nothing that the client can change.
  if (failure === undefined || remedy === 'whole_context')
    return serverError(remedy === 'none' ? UNREADABLE : isSilence(error) ? SILENT : BROKEN, error, {
      retry: hasBegun && !isSilence(error) ? 'same' : 'other',
      ...shouldRetry,
    });
  const status = given ?? statusOfCode(failure.code);
  const retryAfterMs = statedAt === undefined ? undefined : Math.max(0, statedAt - now);
  const isOwnLimit = status === 429 && [failure.code, failure.type].some(isQuotaCode);
  // Servers with this API that are not OpenAI's say it in words of their own.
  if (failure.code !== 'context_length_exceeded' && isTooLong(status, failure)) {
    return withOptions(toModelError(status, failure, { secrets, retryAfterMs }), shouldRetry);
  }
  if (OWN_STATUSES.has(status) || status < 400 || isOwnLimit || (status === 429 && OWN_LIMITS.has(failure.code))) {
    return withOptions(toModelError(status, failure, { secrets, retryAfterMs }), { retry: 'other', ...shouldRetry });
  }
  const { message } = failure;
  const words = scrub(message, secrets);
  const plain = (pattern: RegExp, text: string | null): string | undefined =>
    text !== null && pattern.test(text) && scrub(text, secrets) === text ? text : undefined;
  const type = plain(ERROR_CODE, failure.type);
  return new ModelError(plain(ERROR_CODE, failure.code) ?? codeOf(status), words === '' ? FAILED : words, {
    status,
    ...(type === undefined ? {} : { type }),
    param: plain(PARAM, failure.param) ?? null,
    retry: hasBegun && remedy === 'retry' && status >= 500 ? 'same' : hintOf(status, remedy),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs, upstreamWaitMs: retryAfterMs }),
    ...shouldRetry,
    cause: error,
  });
}

/** Another target may succeed where this one fails, except with a request that is invalid for all. */
function hintOf(status: number, remedy: UpstreamError['remedy']): RetryHint {
  return remedy === 'none' && [400, 413, 422].includes(status) ? 'nowhere' : 'other';
}

function statusOfCode(code: string | null): number {
  return isQuotaCode(code) ? 429 : (STATUS_OF_CODE[code ?? ''] ?? 500);
}

function codeOf(status: number): string {
  if (status === 503) return 'server_is_overloaded';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

function isSilence({ message, cause }: UpstreamError): boolean {
  return message.startsWith('idle timeout') || cause instanceof UpstreamTimeoutError;
}

function withOptions(error: ModelError, options: ModelError['options']): ModelError {
  return new ModelError(error.code, error.message, { ...error.options, ...options });
}
