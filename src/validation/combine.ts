import { isObject } from '../json.js';
import type { Check } from './check.js';
import { allOf, described, type JsonSchema, schemaOf } from './json-schema.js';
import {
  emptyArray,
  missing,
  propertyNameTooLong,
  tooLong,
  tooManyElements,
  tooManyProperties,
  unknownValue,
  wrongType,
} from './violations.js';
import { lengthOf } from './wording.js';

/** Runs checks in order; returns the first violation. */
export function every(checks: readonly Check[]): Check {
  const [first, ...rest] = checks;
  if (first === undefined) return described(() => null, {});
  if (rest.length === 0) return first;
  const all: Check = (value, options) => {
    for (const check of checks) {
      const violation = check(value, options);
      if (violation !== null) return violation;
    }
    return null;
  };
  return described(all, (definitions) => allOf(checks.map((check) => schemaOf(check, definitions))));
}

/** Any string. */
export const anyString: Check = described(
  (value) => (typeof value === 'string' ? null : wrongType('a string', value)),
  { type: 'string' },
);

/** An object, whatever it has. */
export const anyObject: Check = described((value) => (isObject(value) ? null : wrongType('an object', value)), {
  type: 'object',
});

/** A check that is defined further down in its file, or that contains itself. */
export function later(find: () => Check): Check {
  return described(
    (value, options) => find()(value, options),
    (definitions) => schemaOf(find(), definitions),
  );
}

/** How many elements a list has. */
export interface ListLimits {
  /** Absent: none are needed. */
  readonly least?: 1;
  /** Absent: any number. */
  readonly most?: number;
}

/** An array whose elements all pass; the path of a violation includes the index. */
export function listOf(element: Check, expected = 'an array', { least, most }: ListLimits = {}): Check {
  const list: Check = (value, options) => {
    if (!Array.isArray(value)) return wrongType(expected, value);
    if (least !== undefined && value.length === 0) return emptyArray();
    if (most !== undefined && value.length > most) return tooManyElements(most, value.length);
    for (let index = 0; index < value.length; index++) {
      const violation = element(value[index], options);
      if (violation !== null) return violation.at(index);
    }
    return null;
  };
  const limits = {
    ...(least === undefined ? {} : { minItems: least }),
    ...(most === undefined ? {} : { maxItems: most }),
  };
  return described(list, (definitions) => ({ type: 'array', items: schemaOf(element, definitions), ...limits }));
}

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

/** The alternative to a string. */
export interface StringAlternative {
  /** The other kind of value. */
  readonly kind: 'array' | 'object';
  readonly check: Check;
  /** The text for both kinds, as in "expected one of a string or array of tools". */
  readonly expected: string;
  readonly maxLength?: number;
}

/** A string, or a value of one other kind with its own check (protocol §2: `input`, `tool_choice`; §3.1: `content`). */
export function stringOr({ kind, check, expected, maxLength = Infinity }: StringAlternative): Check {
  const either: Check = (value, options) => {
    if (typeof value === 'string') {
      return value.length > maxLength && lengthOf(value) > maxLength ? tooLong(maxLength, value) : null;
    }
    const isOther = typeof value === 'object' && value !== null && Array.isArray(value) === (kind === 'array');
    return isOther ? check(value, options) : wrongType(expected, value);
  };
  const text = { type: 'string', ...(maxLength === Infinity ? {} : { maxLength }) };
  return described(either, (definitions) => ({ anyOf: [text, schemaOf(check, definitions)] }));
}

/**
 * An object whose check depends on one member. The variants are a Map, because a name such as `constructor` exists in
 * every plain object. As in OpenAI's API, the violation of an unknown variant belongs to the object, not to the member.
 *
 * @param otherwise checks unknown variants; without it they are violations
 */
export function unionBy(member: string, choices: Readonly<Record<string, Check>>, otherwise?: Check): Check {
  // A client may name the variant `constructor`.
  const variants = new Map(Object.entries(choices));
  const names = [...variants.keys()];
  const union: Check = (value, options) => {
    if (!isObject(value)) return wrongType('an object', value);
    const name = value[member];
    if (name === undefined) return missing().under(member);
    if (typeof name !== 'string') return wrongType('a string', name).under(member);
    const variant = variants.get(name) ?? otherwise;
    return variant === undefined ? unknownValue(name, names) : variant(value, options);
  };
  return described(union, (definitions) => ({
    anyOf: [
      ...[...variants].map(([name, check]) =>
        allOf([withMember(member, { type: 'string', const: name }), schemaOf(check, definitions)]),
      ),
      ...(otherwise === undefined
        ? []
        : [allOf([withMember(member, { type: 'string', not: { enum: names } }), schemaOf(otherwise, definitions)])]),
    ],
  }));
}

function withMember(member: string, schema: JsonSchema): JsonSchema {
  return { type: 'object', required: [member], properties: { [member]: schema } };
}
