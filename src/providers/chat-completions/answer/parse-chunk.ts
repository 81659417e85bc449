import { isObject } from '../../../validation/index.js';
import { describeFailure, isFailure, readFailure, type UpstreamFailure } from '../../upstream-errors/error-body.js';
import { serverError, toModelError } from '../../upstream-errors/to-model-error.js';
import { UNREADABLE } from '../../upstream-http/exchange-error.js';
import type { ChatChunk } from './chat-chunk.js';

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
  const { object, error, error_type: type, error_message: message, choices } = chunk;
  if (object === 'error' || [error, type, message].some(isFailure)) return chunk;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(choice) && isFailure(choice.error) ? choice : undefined;
}

function toError(failure: UpstreamFailure, secrets: readonly string[]): Error {
  return toModelError(failure.status ?? 500, failure, { secrets, retryAfterMs: undefined });
}
