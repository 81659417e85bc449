import type { Check } from './check.js';
import { described, schemaOf } from './json-schema.js';
import { emptyArray, tooManyElements, wrongType } from './violations.js';

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
