import { isObject } from '../json.js';
import type { Check } from './check.js';
import {
  aboveMaximum,
  belowMinimum,
  emptyArray,
  patternMismatch,
  tooLong,
  tooManyElements,
  tooShort,
  unknownValue,
  wrongType,
} from './violations.js';
import { enumerate, lengthOf } from './wording.js';

/** Compiles the argument of one class-validator decorator into a check. */
type ConstraintCompiler = (argument: unknown, number: 'integer' | 'decimal') => Check;

const ofType =
  (expected: string, accepts: (value: unknown) => boolean): ConstraintCompiler =>
  () =>
  (value) =>
    accepts(value) ? null : wrongType(expected, value);

function compileIsIn(argument: unknown): Check {
  const values = argument as readonly string[];
  const allowed = new Set<unknown>(values);
  const expected = `one of ${enumerate(values, 'or')}`;
  return (value) => {
    if (allowed.has(value)) return null;
    return typeof value === 'string' ? unknownValue(value, values) : wrongType(expected, value);
  };
}

function compileMatches(argument: unknown): Check {
  const pattern = argument as RegExp;
  if (pattern.global || pattern.sticky) throw new Error(`${String(pattern)} is stateful.`);
  return (value) => {
    if (typeof value !== 'string') return wrongType('a string', value);
    return pattern.test(value) ? null : patternMismatch(pattern);
  };
}

/** A check of a number against a limit; refuses other values, like class-validator's `Min` and `Max`. */
function compileRange(
  isOutside: (value: number, limit: number) => boolean,
  violation: typeof belowMinimum,
): ConstraintCompiler {
  return (argument, number) => {
    const limit = argument as number;
    return (value) => {
      if (typeof value !== 'number') return wrongType(number === 'integer' ? 'an integer' : 'a decimal', value);
      return isOutside(value, limit) ? violation(number, limit, value) : null;
    };
  };
}

/** An integer that every client can read: a double beyond the safe ones may be another number than was sent. */
export const integer: Check = (value) => {
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType('an integer', value);
  if (value > Number.MAX_SAFE_INTEGER) return aboveMaximum('integer', Number.MAX_SAFE_INTEGER, value);
  return value < Number.MIN_SAFE_INTEGER ? belowMinimum('integer', Number.MIN_SAFE_INTEGER, value) : null;
};

function compileMinLength(argument: unknown): Check {
  const minimum = argument as number;
  return (value) => {
    if (typeof value !== 'string') return wrongType('a string', value);
    return value.length < 2 * minimum && lengthOf(value) < minimum ? tooShort(minimum, value) : null;
  };
}

function compileMaxLength(argument: unknown): Check {
  const maximum = argument as number;
  return (value) => {
    if (typeof value !== 'string') return wrongType('a string', value);
    return value.length > maximum && lengthOf(value) > maximum ? tooLong(maximum, value) : null;
  };
}

function compileArrayNotEmpty(): Check {
  return (value) => {
    if (!Array.isArray(value)) return wrongType('an array', value);
    return value.length === 0 ? emptyArray() : null;
  };
}

function compileArrayMaxSize(argument: unknown): Check {
  const maximum = argument as number;
  return (value) => {
    if (!Array.isArray(value)) return wrongType('an array', value);
    return value.length > maximum ? tooManyElements(maximum, value.length) : null;
  };
}

/** The supported decorators of class-validator, by their name in the metadata. */
export const CONSTRAINT_COMPILERS: ReadonlyMap<string, ConstraintCompiler> = new Map<string, ConstraintCompiler>([
  ['isDefined', ofType('a value', (value) => value !== null && value !== undefined)],
  ['isString', ofType('a string', (value) => typeof value === 'string')],
  ['isBoolean', ofType('a boolean', (value) => typeof value === 'boolean')],
  ['isInt', () => integer],
  ['isNumber', ofType('a decimal', Number.isFinite)],
  ['isObject', ofType('an object', isObject)],
  ['isArray', ofType('an array', Array.isArray)],
  ['isIn', compileIsIn],
  ['matches', compileMatches],
  ['min', compileRange((value, limit) => value < limit, belowMinimum)],
  ['max', compileRange((value, limit) => value > limit, aboveMaximum)],
  ['minLength', compileMinLength],
  ['maxLength', compileMaxLength],
  ['arrayNotEmpty', compileArrayNotEmpty],
  ['arrayMaxSize', compileArrayMaxSize],
]);
