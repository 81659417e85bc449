import { ModelError, type RetryHint } from '../../model-error.js';
import { scrub } from '../../scrub.js';
import { serverError, toModelError, unreachable } from '../../upstream-errors/index.js';
import type { UpstreamError } from '../upstream-error.js';

/** What the client's error depends on besides the upstream's. */
export interface ClientErrorContext {
  /** Values to redact. */
  readonly secrets: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the request was repeated: then the official SDKs must not repeat it once more. */
  readonly wasRepeated: boolean;
}

/** Statuses that concern the service's own account or address at the upstream. */
const PRIVATE = new Set([401, 402, 403, 404]);

/** The HTTP status of an error that the upstream reported in its stream; 500 for others. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
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
  insufficient_quota: 429,
  credit_balance_exhausted: 429,
  organization_spend_limit_exceeded: 429,
  project_spend_limit_exceeded: 429,
  usage_not_included: 429,
  budget_reached: 429,
  flex_unavailable: 429,
  server_is_overloaded: 503,
};

const CODE = /^[a-z][a-z0-9_]{2,63}$/;

const FAILED = 'The model failed. Please retry your request.';

/**
 * The error for the client: the code and the words of the upstream, which speaks the same protocol, without addresses and credentials.
 * Refusals that concern this service's account are not shown.
 */
export function toClientError(error: UpstreamError, { secrets, now, wasRepeated }: ClientErrorContext): ModelError {
  const { failure, status = null, retryAt, remedy, isUnreachable = false } = error.options;
  const shouldRetry = wasRepeated ? { shouldRetry: false } : {};
  const wait = retryAt === undefined ? undefined : Math.max(0, retryAt - now);
  const delays = wait === undefined ? {} : { retryAfterMs: wait, upstreamWaitMs: wait };
  if (isUnreachable) return withOptions(unreachable(error), shouldRetry);
  if (failure === undefined) return serverError(brokenMessage(error), error, { retry: 'other', ...shouldRetry });
  if (status !== null && (PRIVATE.has(status) || status < 400)) {
    return withOptions(toModelError(status, failure, { secrets, retryAfterMs: undefined }), shouldRetry);
  }
  const { message, param } = failure;
  const code = failure.code !== null && CODE.test(failure.code) ? failure.code : codeOf(status);
  const shown = status ?? STATUS_OF_CODE[code] ?? 500;
  const words = scrub(message, secrets);
  return new ModelError(code, words === '' ? FAILED : words, {
    status: shown,
    ...(failure.type === null ? {} : { type: failure.type }),
    param,
    retry: hintOf(shown, remedy),
    ...delays,
    ...shouldRetry,
    cause: error,
  });
}

/** Another target may succeed where this one fails, except with a request that is invalid for all. */
function hintOf(status: number, remedy: UpstreamError['remedy']): RetryHint {
  return remedy === 'none' && [400, 413, 422].includes(status) ? 'nowhere' : 'other';
}

function codeOf(status: number | null): string {
  if (status === 429) return 'rate_limit_exceeded';
  if (status === 503) return 'server_is_overloaded';
  return status !== null && status < 500 ? 'invalid_request_error' : 'server_error';
}

function brokenMessage({ message }: UpstreamError): string {
  return message.startsWith('idle timeout')
    ? 'The model did not answer in time. Please retry your request.'
    : 'The connection to the model broke. Please retry your request.';
}

function withOptions(error: ModelError, options: { readonly shouldRetry?: boolean }): ModelError {
  return new ModelError(error.code, error.message, { ...error.options, ...options });
}
