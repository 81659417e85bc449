export { isObject, listIn, objectsIn, parseJson } from '../json.js';
export { type Check, type CheckOptions, type UnknownParameters } from './check.js';
export { anyObject, anyString, every, later, listOf, recordOfStrings, stringOr, unionBy } from './combine.js';
export {
  compile,
  exactly,
  membersOf,
  nested,
  propertiesOf,
  schemaOfObject,
  type DecoratedClass,
  type Validate,
} from './compile.js';
export { integer } from './constraints.js';
export { Closed, compose, IsNullable, OptionalNumber, Satisfies } from './decorators.js';
export { Definitions, described, type JsonSchema, orNull, schemaOf } from './json-schema.js';
export { Violation } from './violation.js';
export {
  aboveMaximum,
  belowMinimum,
  emptyArray,
  missing,
  movedMember,
  propertyNameTooLong,
  tooLong,
  tooManyElements,
  tooManyProperties,
  tooShort,
  unknownMember,
  unknownValue,
  wrongType,
} from './violations.js';
export { IgnoredMembers, TypoSearch } from './typo-search.js';
export { didYouMean, isNearMiss } from './did-you-mean.js';
export { refuseUnknown } from './refuse-unknown.js';
export { type Query, queryCheckOf, toArray, toBoolean, toNumber } from './query-values.js';
export { requireObject, validatorOf } from './require-object.js';
export { clip, kindOf } from './wording.js';
