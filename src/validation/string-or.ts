import type { Check } from './check.js';
import { described, schemaOf } from './json-schema.js';
import { tooLong, wrongType } from './violations.js';
import { lengthOf } from './wording.js';

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
