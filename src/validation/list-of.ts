import type { Check } from './check.js';
import { wrongType } from './faults.js';

/** An array whose every element passes; the fault's path names the element. */
export function listOf(element: Check, expected = 'an array'): Check {
  return (value, options) => {
    if (!Array.isArray(value)) return wrongType(expected, value);
    for (let index = 0; index < value.length; index++) {
      const fault = element(value[index], options);
      if (fault !== null) return fault.at(index);
    }
    return null;
  };
}
