import { ValidateBy, ValidateIf } from 'class-validator';
import type { Check } from './check.js';

/** The constraint name of `Satisfies`; the check itself is the constraint's first argument. */
export const SATISFIES = 'satisfies';

/** The condition of `IsNullable`, by which the compiler recognises it. */
export const isNotNull = (_object: unknown, value: unknown): boolean => value !== null;

const closedClasses = new WeakSet<object>();

/**
 * A property judged by a check of ours: a list, a union, a nested class. To class-validator it is a custom constraint like
 * any other, so the class works with `validateSync` too.
 */
export function Satisfies(check: Check): PropertyDecorator {
  return ValidateBy({
    name: SATISFIES,
    constraints: [check],
    validator: {
      validate: (value) => check(value, { unknownParameters: 'ignore' }) === null,
      defaultMessage: (details) => `${details?.property ?? 'value'} is not valid`,
    },
  });
}

/** A property that must be there but may be null; `IsOptional` is for those that may be absent as well. */
export function IsNullable(): PropertyDecorator {
  return ValidateIf(isNotNull);
}

/** A class whose objects may have no other members, as long as unknown parameters are rejected. */
export function Closed(): ClassDecorator {
  return (target) => {
    closedClasses.add(target);
  };
}

/** Whether a class carries `Closed` itself; a subclass has to say it again. */
export function isClosed(target: object): boolean {
  return closedClasses.has(target);
}
