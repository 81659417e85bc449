import { hash } from 'node:crypto';

import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';

import { EnvironmentError } from './environment-error.js';

/** Variables by name, as text or already in their type. */
export type Variables = Readonly<Record<string, unknown>>;

/**
 * A check across variables: returns a violation or undefined. Skipped when one of its variables already has a
 * violation.
 */
export type VariableCheck<T> = readonly [
  variables: readonly (keyof T & string)[],
  check: (values: T) => string | undefined,
];

/** What was read last into a class. */
interface Read {
  /** The digest of the variables. */
  readonly given: string;
  readonly checks: unknown;
  readonly values: object;
}

/** A start reads the same variables several times, and tests start many services: reading them is a good part of a start. */
const latest = new WeakMap<new () => object, Read>();

/**
 * Reads variables into a class whose members are decorated with their kinds. Absent and empty variables have their
 * defaults; names that are not members are ignored. Equal variables may give the same object. Throws EnvironmentError with all violations.
 */
export function readVariables<T extends object>(
  type: new () => T,
  variables: Variables,
  checks: readonly VariableCheck<T>[],
): T {
  const names = new Set(Object.keys(new type()));
  const given = Object.entries(variables).filter(
    ([name, value]) => names.has(name) && value !== undefined && value !== '',
  );
  const digest = digestOf(given);
  const known = latest.get(type);
  if (known?.given === digest && known.checks === checks) return known.values as T;
  const values = plainToInstance(type, Object.fromEntries(given), { exposeDefaultValues: true });
  // Defaults are valid (default-variables.spec.ts), and to check all of them is a tenth of a start.
  const checked = Object.setPrototypeOf(pick(values, given), type.prototype as object) as object;
  const errors = validateSync(checked, { stopAtFirstError: true, skipUndefinedProperties: true });
  const violated = new Set(errors.map(({ property }) => property));
  const violations = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  for (const [affected, check] of checks) {
    const violation = affected.some((name) => violated.has(name)) ? undefined : check(values);
    if (violation === undefined) continue;
    violations.push(violation);
    for (const name of affected) violated.add(name);
  }
  if (violations.length > 0) throw new EnvironmentError(violations);
  latest.set(type, { given: digest, checks, values });
  return values;
}

/** The values of variables that are given. */
function pick(values: object, given: readonly (readonly [name: string, value: unknown])[]): object {
  return Object.fromEntries(given.map(([name]) => [name, (values as Record<string, unknown>)[name]]));
}

/** Tells variables apart whatever their order. JSON alone would not tell NaN from null. */
function digestOf(given: readonly (readonly [name: string, value: unknown])[]): string {
  const sorted = given.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const tell = (_: string, value: unknown): unknown =>
    typeof value === 'string' || typeof value === 'object' ? value : { [typeof value]: `${value as number}` };
  return hash('sha256', JSON.stringify(sorted, tell));
}

/** Calls several readers of the same variables. Throws EnvironmentError with the violations of all of them. */
export function readTogether<T extends readonly unknown[]>(
  variables: Variables,
  ...readers: { readonly [K in keyof T]: (variables: Variables) => T[K] }
): T {
  const violations: string[] = [];
  const values = readers.map((read: (variables: Variables) => unknown) => {
    try {
      return read(variables);
    } catch (error) {
      if (!(error instanceof EnvironmentError)) throw error;
      violations.push(...error.violations);
      return undefined;
    }
  });
  if (violations.length > 0) throw new EnvironmentError(violations);
  return values as unknown as T;
}
