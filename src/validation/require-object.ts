import { ApiError } from '../protocol/index.js';
import { isObject } from './check.js';
import { kindOf } from './wording.js';

/** Returns a request body that is a JSON object. Throws ApiError 400 `invalid_type`. */
export function requireObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body;
  const kind = body === null ? 'null' : kindOf(body);
  throw ApiError.of('invalid_type', `Invalid type for the request body: expected an object, but got ${kind} instead.`);
}
