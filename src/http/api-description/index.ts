export {
  Describe,
  type DescribedBody,
  type DescribedForm,
  type Operation,
  type OperationGroup,
  operationOf,
  type RequestHeader,
} from './describe.js';
