export {
  type RetrieveQuery,
  validateDeleteQuery,
  validateInputItemsQuery,
  validateRetrieveQuery,
} from './query-parameters.js';
export { describeSteerInput } from './steer-input.js';
export { typeOfItem } from './input-item.js';
export { RequestValidator } from './request-validator.js';
export { type CreateEvent, validateCreateEvent, validateCreateRequest } from './validate-create-request.js';
