import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { compile, type CheckOptions } from '../../validation/index.js';
import { CreateRequestBody, ModelMember } from './create-request-body.js';
import { refuseTwoHistories, requireInput, requireSomethingToAnswer, requireToolsOfChoice } from './cross-checks.js';
import { requireReadableBody } from './readable-body.js';
import { refuseUnbuiltFeatures } from './refuse-unbuilt-features.js';

const requireModel = compile(ModelMember);
const checkMembers = compile(CreateRequestBody);

function refuseChatCompletions(body: object, { unknownParameters }: CheckOptions): void {
  if (unknownParameters === 'ignore' || !Object.hasOwn(body, 'messages')) return;
  throw ApiError.of(
    'unsupported_parameter',
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
  );
}

/**
 * Checks the body of `POST /responses` and gives it back: the very object that came in, untouched. Faults are reported in
 * the order of protocol §2; what depends on stored state or on the model is checked elsewhere.
 *
 * @throws ApiError with status 400 for the first fault
 */
export function validateCreateRequest(body: unknown, options: CheckOptions): CreateResponseRequest {
  const members = requireReadableBody(body);
  requireModel(members, options);
  if (members.model === '') {
    const message = "The requested model '' does not exist.";
    throw new ApiError(400, 'invalid_request_error', 'model_not_found', 'model', message);
  }
  requireInput(members);
  refuseChatCompletions(members, options);
  checkMembers(members, options);
  const request = members as unknown as CreateResponseRequest;
  refuseTwoHistories(request);
  refuseUnbuiltFeatures(request);
  requireSomethingToAnswer(request);
  requireToolsOfChoice(request);
  return request;
}
