/** All violations, in the message grammar of protocol §7. */
import { Violation } from './violation.js';
import { clip, enumerate, kindOf, lengthOf } from './wording.js';

/** A required value is missing. */
export function missing(): Violation {
  return new Violation('missing_required_parameter', (path) => `Missing required parameter: '${path}'.`);
}

/**
 * A value of another JSON type than expected, or none: that is a missing one. Protocol §7: a null is "an object" at top level, "null"
 * further in.
 */
export function wrongType(expected: string, value: unknown): Violation {
  if (value === undefined) return missing();
  return new Violation('invalid_type', (path) => {
    const isTopLevel = !path.includes('.') && !path.includes('[');
    const kind = value === null && !isTopLevel ? 'null' : kindOf(value);
    const subject = path === '' ? 'the value' : `'${path}'`;
    return `Invalid type for ${subject}: expected ${expected}, but got ${kind} instead.`;
  });
}

/** A string other than the allowed ones. */
export function unknownValue(value: string, supported: readonly string[]): Violation {
  const list = enumerate(supported, 'and');
  return new Violation('invalid_value', () => `Invalid value: '${clip(value)}'. Supported values are: ${list}.`);
}

/** An unknown member, with similar known ones. */
export function unknownMember(member: string, suggestions: readonly string[]): Violation {
  const tail = suggestions.length === 0 ? '' : ` Did you mean ${enumerate(suggestions, 'or')}?`;
  return new Violation('unknown_parameter', (path) => `Unknown parameter: '${path}'.${tail}`).under(member);
}

/** A member that has another place in this API. */
export function movedMember(member: string, place: string): Violation {
  return new Violation(
    'unsupported_parameter',
    (path) => `Unsupported parameter: '${path}'. In the Responses API, this parameter has moved to ${place}.`,
  ).under(member);
}

/** A number below its range. */
export function belowMinimum(kind: 'integer' | 'decimal', minimum: number, value: number): Violation {
  return new Violation(
    `${kind}_below_min_value`,
    (path) =>
      `Invalid '${path}': ${kind} below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`,
  );
}

/** A number above its range. */
export function aboveMaximum(kind: 'integer' | 'decimal', maximum: number, value: number): Violation {
  return new Violation(
    `${kind}_above_max_value`,
    (path) =>
      `Invalid '${path}': ${kind} above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`,
  );
}

/** A string shorter than allowed. */
export function tooShort(minimum: number, value: string): Violation {
  const got = value === '' ? 'an empty string' : `a string with length ${lengthOf(value)}`;
  return new Violation(
    'string_below_min_length',
    (path) =>
      `Invalid '${path}': string too short. Expected a string with minimum length ${minimum}, but got ${got} instead.`,
  );
}

/** A string longer than allowed. */
export function tooLong(maximum: number, value: string): Violation {
  return new Violation(
    'string_above_max_length',
    (path) =>
      `Invalid '${path}': string too long. Expected a string with maximum length ${maximum}, ` +
      `but got a string with length ${lengthOf(value)} instead.`,
  );
}

/** A string that does not match a pattern. */
export function patternMismatch(pattern: RegExp): Violation {
  return new Violation(
    'invalid_value',
    (path) =>
      `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`,
  );
}

/** An array without elements. */
export function emptyArray(): Violation {
  return new Violation(
    'empty_array',
    (path) =>
      `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
  );
}

/** An array with too many elements. */
export function tooManyElements(maximum: number, actual: number): Violation {
  return new Violation(
    'array_above_max_length',
    (path) =>
      `Invalid '${path}': array too long. Expected an array with maximum length ${maximum}, ` +
      `but got an array with length ${actual} instead.`,
  );
}

/** An object with too many properties. */
export function tooManyProperties(maximum: number, actual: number): Violation {
  return new Violation(
    'object_above_max_properties',
    (path) =>
      `Invalid '${path}': too many properties. Expected an object with at most ${maximum} properties, ` +
      `but got an object with ${actual} properties instead.`,
  );
}

/** An object with a property whose name is too long. */
export function propertyNameTooLong(maximum: number, name: string): Violation {
  return new Violation(
    'string_above_max_length',
    (path) =>
      `Invalid '${path}': property name too long. Expected a property name with maximum length ${maximum}, ` +
      `but got '${clip(name)}' with length ${lengthOf(name)} instead.`,
  );
}
