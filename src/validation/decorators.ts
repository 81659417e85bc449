import { IsNumber, IsOptional, Max, Min, ValidateBy, ValidateIf } from 'class-validator';
import type { Check } from './check.js';

/** The constraint name of `Satisfies`; the check itself is the constraint's first argument. */
export const SATISFIES = 'satisfies';

/** The condition of `IsNullable`, by which the compiler recognises it. */
export const isNotNull = (_object: unknown, value: unknown): boolean => value !== null;

const closedClasses = new WeakSet<object>();

/**
 * A property with a custom check: a list, a union, a nested class. For class-validator it is a custom constraint, so
 * the class also works with `validateSync`.
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

/** A required property that may be null; `IsOptional` is for properties that may also be absent. */
export function IsNullable(): PropertyDecorator {
  return ValidateIf(isNotNull);
}

/** A number from `least` to `most`, which may be null or absent. */
export function OptionalNumber(least: number, most: number): PropertyDecorator {
  return compose(Max(most), Min(least), IsNumber(), IsOptional());
}

/** Several decorators as one; they are applied in this order. */
export function compose(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}

/** A class whose objects have no other members when unknown parameters are rejected. */
export function Closed(): ClassDecorator {
  return (target) => {
    closedClasses.add(target);
  };
}

/** Whether a class itself is `Closed`; not inherited. */
export function isClosed(target: object): boolean {
  return closedClasses.has(target);
}
