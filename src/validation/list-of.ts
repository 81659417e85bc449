import type { Check } from './check.js';
import { wrongType } from './violations.js';

/** An array whose elements all pass; the path of a violation includes the index. */
export function listOf(element: Check, expected = 'an array'): Check {
  return (value, options) => {
    if (!Array.isArray(value)) return wrongType(expected, value);
    for (let index = 0; index < value.length; index++) {
      const violation = element(value[index], options);
      if (violation !== null) return violation.at(index);
    }
    return null;
  };
}
