import { ApiError } from '../../protocol/index.js';
import { type CheckOptions, compile } from '../../validation/index.js';
import { ModelMember } from './create-request-body.js';

const check = compile(ModelMember);

/** Refuses a body without a model, or with an empty one (protocol §2, order rule 1). */
export function refuseWithoutModel(members: Readonly<Record<string, unknown>>, options: CheckOptions): void {
  check(members, options);
  if (members.model !== '') return;
  const message = "The requested model '' does not exist.";
  throw new ApiError(400, 'invalid_request_error', 'model_not_found', 'model', message);
}
