import { ApiError } from '../../src/protocol/index.js';
import { validateCreateRequest } from '../../src/responses/dto/index.js';

/** What a body is refused with, as status, code, param and message; null when it is accepted. */
export function violationOf(body: unknown, unknownParameters: 'ignore' | 'reject' = 'ignore'): unknown {
  try {
    validateCreateRequest(body, { unknownParameters });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, error.code, error.param, error.message];
  }
  return null;
}
