export {
  type RetrieveQuery,
  validateDeleteQuery,
  validateIncludeQuery,
  validateItemsQuery,
  validateRetrieveQuery,
} from './query-parameters.js';
export { nothingToAnswer } from './cross-checks.js';
export { inputItem, typeOfItem } from './input-item.js';
export { metadata } from './metadata.js';
export type { CompactRequest } from './compact-request-body.js';
export { describeSteerInput } from './steer-input.js';
export { RequestValidator } from './request-validator.js';
export { type CreateEvent, isWarmUp, validateCreateEvent, validateCreateRequest } from './validate-create-request.js';
