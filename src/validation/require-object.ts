import { ApiError } from '../protocol/index.js';
import { isObject } from '../json.js';
import type { CheckOptions } from './check.js';
import { compile, type DecoratedClass } from './compile.js';
import { kindOf } from './wording.js';

/** Returns a request body that is a JSON object. Throws ApiError 400 `invalid_type`. */
export function requireObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body;
  const kind = body === null ? 'null' : kindOf(body);
  throw ApiError.of('invalid_type', `Invalid type for the request body: expected an object, but got ${kind} instead.`);
}

/**
 * The check of bodies of a class: it returns the same object, and throws ApiError 400 for the first violation. `mayBeAbsent`: no body is
 * an empty one.
 */
export function validatorOf<Body extends object>(
  target: DecoratedClass & (new () => Body),
  { mayBeAbsent = false } = {},
): (body: unknown, options: CheckOptions) => Body {
  const check = compile(target);
  return (body, options) => {
    const members = requireObject(mayBeAbsent ? (body ?? {}) : body);
    check(members, options);
    return members as unknown as Body;
  };
}
