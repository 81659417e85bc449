import { isObject, type Check } from './check.js';
import { described } from './json-schema.js';
import { propertyNameTooLong, tooLong, tooManyProperties, wrongType } from './violations.js';
import { lengthOf } from './wording.js';

/** The limits of a flat object of strings. */
export interface RecordLimits {
  readonly expected: string;
  readonly maxProperties: number;
  readonly maxNameLength: number;
  readonly maxValueLength: number;
}

/** A flat object of strings, such as `metadata` (protocol §2). */
export function recordOfStrings(limits: RecordLimits): Check {
  const record: Check = (value) => {
    if (!isObject(value)) return wrongType(limits.expected, value);
    const names = Object.keys(value);
    if (names.length > limits.maxProperties) return tooManyProperties(limits.maxProperties, names.length);
    for (const name of names) {
      if (lengthOf(name) > limits.maxNameLength) return propertyNameTooLong(limits.maxNameLength, name);
      const text = value[name];
      if (typeof text !== 'string') return wrongType('a string', text).under(name);
      if (lengthOf(text) > limits.maxValueLength) return tooLong(limits.maxValueLength, text).under(name);
    }
    return null;
  };
  return described(record, {
    type: 'object',
    maxProperties: limits.maxProperties,
    propertyNames: { type: 'string', maxLength: limits.maxNameLength },
    additionalProperties: { type: 'string', maxLength: limits.maxValueLength },
  });
}
