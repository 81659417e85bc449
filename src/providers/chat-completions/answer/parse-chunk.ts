import { isObject } from '../../../validation/index.js';
import {
  describeFailure,
  readFailure,
  serverError,
  toModelError,
  type UpstreamFailure,
} from '../../upstream-errors/index.js';
import type { ChatChunk } from './chat-chunk.js';

/** The client's message for an answer that cannot be parsed. */
export const UNREADABLE = 'The model sent an invalid response. Please retry your request.';

/** Parses a chunk or a whole completion. Throws ModelError for an error object and for invalid JSON. */
export function parseChunk(json: string, secrets: readonly string[]): ChatChunk {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw serverError(UNREADABLE, cause);
  }
  if (!isObject(value)) throw serverError(UNREADABLE, new Error('a chunk is not an object'));
  if (value.error != null || value.object === 'error') throw toError(describeFailure(value), secrets);
  return value;
}

/** The ModelError for the data of an `error` event. */
export function parseError(text: string, secrets: readonly string[]): Error {
  return toError(readFailure(text), secrets);
}

function toError(failure: UpstreamFailure, secrets: readonly string[]): Error {
  return toModelError(failure.status ?? 500, failure, { secrets, retryAfterMs: undefined });
}
