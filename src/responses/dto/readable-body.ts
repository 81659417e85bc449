import { ApiError } from '../../protocol/index.js';
import { clip, isDeeperThan, requireObject } from '../../validation/index.js';

/** Most nesting levels of objects and arrays; JSON.stringify overflows the stack on very deep values. */
const MAX_LEVELS = 256;

/** Returns a JSON object; refuses other values, and objects too deep for recursive code. */
export function requireReadableBody(body: unknown): Record<string, unknown> {
  const members = requireObject(body);
  for (const name of Object.keys(members)) {
    if (isDeeperThan(MAX_LEVELS - 1, members[name])) {
      const param = clip(name);
      const message = `Invalid '${param}': nested too deeply. Expected at most ${MAX_LEVELS} levels of objects and arrays.`;
      throw ApiError.of('invalid_value', message, { param });
    }
  }
  return members;
}
