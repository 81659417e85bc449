export {
  validateInputItemsQuery,
  validateRetrieveQuery,
  type InputItemsQuery,
  type RetrieveQuery,
} from './query-parameters.js';
export { typeOfItem } from './input-item.js';
export { validateCreateRequest } from './validate-create-request.js';
