import type { Violation } from './violation.js';

/** How strict a run of the validator is. */
export interface CheckOptions {
  /** What happens to members that a closed class does not know. */
  readonly unknownParameters: 'ignore' | 'reject';
}

/** Looks at one value, never changes it, and returns the first violation in it or null. */
export type Check = (value: unknown, options: CheckOptions) => Violation | null;

/** A JSON object, as opposed to an array or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON objects among the elements of an array; none of anything else. */
export function objectsIn(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** One check after the other; the first violation wins. */
export function every(checks: readonly Check[]): Check {
  const [first, ...rest] = checks;
  if (first === undefined) return () => null;
  if (rest.length === 0) return first;
  return (value, options) => {
    for (const check of checks) {
      const violation = check(value, options);
      if (violation !== null) return violation;
    }
    return null;
  };
}
