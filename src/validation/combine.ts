import type { Check } from './check.js';
import { allOf, described, schemaOf } from './json-schema.js';

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

/** A check that is defined further down in its file, or that contains itself. */
export function later(find: () => Check): Check {
  return described(
    (value, options) => find()(value, options),
    (definitions) => schemaOf(find(), definitions),
  );
}
