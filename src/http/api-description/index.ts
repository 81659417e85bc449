export {
  Describe,
  type DescribedBody,
  type DescribedForm,
  type Operation,
  operationOf,
  type RequestHeader,
} from './describe.js';
