export {
  DeleteParameters,
  IncludeParameters,
  ItemsParameters,
  RetrieveParameters,
  validateDeleteQuery,
  validateIncludeQuery,
  validateItemsQuery,
  validateRetrieveQuery,
} from './query-parameters.js';
export { nothingToAnswer } from './cross-checks.js';
export { input, inputItem, typeOfItem } from './input-item.js';
export { CreateEventBody } from './create-event-body.js';
export { CreateRequestBody } from './create-request-body.js';
export { COUNTED_MEMBERS, InputTokensBody } from './input-tokens-body.js';
export { metadata } from './shared-members.js';
export { type CompactRequest, CompactRequestBody } from './compact-request-body.js';
export { describeSteerInput, steerInput } from './steer-input.js';
export { RequestValidator } from './request-validator.js';
export { type CreateEvent, isWarmUp, validateCreateEvent, validateCreateRequest } from './validate-create-request.js';
