import { ApiError } from '../../src/protocol/index.js';
import { validateCreateRequest } from '../../src/responses/dto/index.js';
import { IgnoredMembers, TypoSearch, type UnknownParameters } from '../../src/validation/index.js';

/** What a body of `POST /responses` is refused with, as `refusalOf` says it. */
export function violationOf(body: unknown, unknownParameters: UnknownParameters = 'ignore'): unknown {
  const typos = new TypoSearch(new IgnoredMembers(() => undefined));
  return refusalOf(() => validateCreateRequest(body, { unknownParameters, typos }));
}

/** The ApiError that a call throws, as status, code, param and message; null when it throws none. */
export function refusalOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, error.code, error.param, error.message];
  }
  return null;
}
