import { isObject } from '../../../validation/index.js';
import { describeFailure, isFailure, readFailure, type UpstreamFailure } from '../../upstream-errors/error-body.js';
import { serverError, toModelError } from '../../upstream-errors/to-model-error.js';
import { UNREADABLE } from '../../upstream-http/exchange-error.js';
import type { ChatChunk } from './chat-chunk.js';

/** Codes of what is no error. */
const SUCCESS = /^(?:2\d\d|ok|success)$/i;

/** Parses a chunk or a whole completion. Throws ModelError for an error object and for invalid JSON. */
export function parseChunk(json: string, secrets: readonly string[]): ChatChunk {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw serverError(UNREADABLE, cause);
  }
  if (!isObject(value)) throw serverError(UNREADABLE, new Error('a chunk is not an object'));
  const failed = failedPart(value);
  if (failed !== undefined) throw toError(describeFailure(failed), secrets);
  return value;
}

/**
 * Whether the data of an event holds no part of an answer, such as a heartbeat: it is neither an object nor a list, and was not begun
 * as one.
 */
export function isIdle(data: string): boolean {
  return !/^\s*(?:\{|\[\s*[{[\]])/.test(data);
}

/** The ModelError for the data of an `error` event. */
export function parseError(text: string, secrets: readonly string[]): Error {
  return toError(readFailure(text), secrets);
}

/** The part of a chunk that says that its server failed: all of it, or its choice. */
function failedPart(chunk: ChatChunk): object | undefined {
  const { object, type, error, error_type: errorType, error_message: message, choices, base_resp: state } = chunk;
  if (object === 'error' || type === 'error' || [error, errorType, message].some(isFailure)) return chunk;
  // MiniMax's, which is in good chunks, too; `0` is its success.
  if (isObject(state) && isFailure(state.status_code)) return chunk;
  if (!Array.isArray(choices)) return isRefusal(chunk) ? chunk : undefined;
  const choice: unknown = choices[0];
  return isObject(choice) && isFailure(choice.error) ? choice : undefined;
}

/** Whether a chunk without choices is the body of an error: it lists errors, or has a message with a code or a status of one. */
function isRefusal(chunk: ChatChunk): boolean {
  const { code, message, errors, detail } = chunk;
  if ([errors, detail].some(isFailure)) return true;
  if (!isFailure(message)) return false;
  return (isFailure(code) && !SUCCESS.test(String(code))) || describeFailure(chunk).status !== null;
}

function toError(failure: UpstreamFailure, secrets: readonly string[]): Error {
  return toModelError(failure.status ?? 500, failure, { secrets, retryAfterMs: undefined });
}
