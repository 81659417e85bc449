export {
  Describe,
  type DescribedBody,
  type Operation,
  type OperationGroup,
  operationOf,
  type RequestHeader,
} from './describe.js';
