import { ApiError } from '../../protocol/index.js';
import { clip, isDeeperThan, requireObject } from '../../validation/index.js';

/** How many objects and arrays may be inside one another; beyond it JSON.stringify would overflow the stack one day. */
const MAX_LEVELS = 256;

/** Refuses what is no JSON object, and objects too deep for the recursive code that follows. */
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
