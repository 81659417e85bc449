export {
  validateInputItemsQuery,
  validateRetrieveQuery,
  type InputItemsQuery,
  type RetrieveQuery,
} from './query-parameters.js';
export { validateCreateRequest } from './validate-create-request.js';
