import type { Check } from './check.js';
import { described, schemaOf } from './json-schema.js';
import { wrongType } from './violations.js';

/** An array whose elements all pass; the path of a violation includes the index. */
export function listOf(element: Check, expected = 'an array'): Check {
  const list: Check = (value, options) => {
    if (!Array.isArray(value)) return wrongType(expected, value);
    for (let index = 0; index < value.length; index++) {
      const violation = element(value[index], options);
      if (violation !== null) return violation.at(index);
    }
    return null;
  };
  return described(list, (definitions) => ({ type: 'array', items: schemaOf(element, definitions) }));
}
