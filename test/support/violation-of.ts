import { ApiError } from '../../src/protocol/index.js';
import { validateCreateRequest } from '../../src/responses/dto/index.js';
import { IgnoredMembers, TypoSearch, type UnknownParameters } from '../../src/validation/index.js';

/** What a body is refused with, as status, code, param and message; null when it is accepted. */
export function violationOf(body: unknown, unknownParameters: UnknownParameters = 'ignore'): unknown {
  try {
    const typos = new TypoSearch(new IgnoredMembers(() => undefined));
    validateCreateRequest(body, { unknownParameters, typos });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, error.code, error.param, error.message];
  }
  return null;
}
