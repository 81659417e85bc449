import type { getMetadataStorage } from 'class-validator';

import type { Check } from './check.js';
import { every, listOf } from './combine.js';
import { CONSTRAINT_COMPILERS } from './constraints.js';
import { isNotNull, SATISFIES } from './decorators.js';
import { described, type JsonSchema } from './json-schema.js';
import { missing } from './violations.js';

/** Patterns with other flags mean something else without them. */
const UNICODE_OR_NONE = /^u?$/;

/** What CONSTRAINT_COMPILERS checks, as keywords of JSON Schema. `Min` and `Max` stand beside a decorator with the type. */
export const CONSTRAINT_SCHEMAS: ReadonlyMap<string, ConstraintSchema> = new Map<string, ConstraintSchema>([
  ['isDefined', () => ({ not: { type: 'null' } })],
  ['isString', () => ({ type: 'string' })],
  ['isBoolean', () => ({ type: 'boolean' })],
  ['isInt', () => ({ type: 'integer' })],
  ['isNumber', () => ({ type: 'number' })],
  ['isObject', () => ({ type: 'object' })],
  ['isArray', () => ({ type: 'array' })],
  ['isIn', schemaOfIsIn],
  ['matches', schemaOfMatches],
  ['min', (minimum) => ({ minimum })],
  ['max', (maximum) => ({ maximum })],
  ['minLength', (minLength) => ({ type: 'string', minLength })],
  ['maxLength', (maxLength) => ({ type: 'string', maxLength })],
  ['arrayNotEmpty', () => ({ type: 'array', minItems: 1 })],
  ['arrayMaxSize', (maxItems) => ({ type: 'array', maxItems })],
]);

/** One decorator on one property, as class-validator stores it. */
export type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/** A property and the check of its value, absence included. */
export interface PropertyCheck {
  readonly name: string;
  readonly check: Check;
  /** The check of a value that is there, with its schema. */
  readonly ofValue: Check;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** The type under which class-validator stores `Allow`. */
const ALLOW = 'whitelistValidation';

const isOptionality = (metadata: Metadata): boolean => metadata.name === 'isOptional';
const isNullability = (metadata: Metadata): boolean => argumentOf(metadata) === isNotNull;

/** The first argument of a decorator; undefined without arguments, despite its type. */
function argumentOf({ constraints }: Metadata): unknown {
  return (constraints as readonly unknown[] | undefined)?.[0];
}

function compileConstraint(metadata: Metadata, number: 'integer' | 'decimal'): Check {
  const name = metadata.name ?? metadata.type;
  const argument = argumentOf(metadata);
  const check = name === SATISFIES ? (argument as Check) : CONSTRAINT_COMPILERS.get(name)?.(argument, number);
  if (check === undefined) throw new Error(`unsupported constraint '${name}'`);
  if (name !== SATISFIES) described(check, () => schemaOfConstraint(name, argument));
  // Undefined, despite its type, when a decorator has options but no groups.
  const groups = metadata.groups as readonly string[] | undefined;
  if ((groups !== undefined && groups.length > 0) || metadata.validateIf !== undefined) {
    throw new Error(`groups and conditions are not supported, as on '${name}'`);
  }
  return metadata.each ? listOf(check) : check;
}

function schemaOfConstraint(name: string, argument: unknown): JsonSchema {
  const schema = CONSTRAINT_SCHEMAS.get(name);
  if (schema === undefined) throw new Error(`constraint '${name}' has no JSON Schema`);
  return schema(argument);
}

function compileMetadata(name: string, all: readonly Metadata[]): PropertyCheck | null {
  const isOptional = all.some(isOptionality);
  const isNullable = all.some(isNullability);
  const number = all.some((metadata) => metadata.name === 'isInt') ? 'integer' : 'decimal';
  const checks = all
    .filter((metadata) => metadata.type !== ALLOW && !isOptionality(metadata) && !isNullability(metadata))
    .map((metadata) => compileConstraint(metadata, number));
  if (checks.length === 0) return null;
  const check = every(checks);
  const property = { name, ofValue: check, isRequired: !isOptional, isNullable: isOptional || isNullable };
  if (isOptional) return { ...property, check: (value, options) => (value == null ? null : check(value, options)) };
  return {
    ...property,
    check: (value, options) => {
      if (value === undefined) return missing();
      return isNullable && value === null ? null : check(value, options);
    },
  };
}

/** Compiles the decorators of one property into one check; null when they only declare the property (`Allow`). */
export function compileProperty(className: string, name: string, all: readonly Metadata[]): PropertyCheck | null {
  try {
    return compileMetadata(name, all);
  } catch (cause) {
    throw new Error(`${className}.${name}: ${(cause as Error).message}`, { cause });
  }
}

/** The JSON Schema of a decorator of class-validator, from its argument. */
type ConstraintSchema = (argument: unknown) => JsonSchema;

function schemaOfMatches(argument: unknown): JsonSchema {
  const { flags, source } = argument as RegExp;
  if (!UNICODE_OR_NONE.test(flags)) throw new Error(`JSON Schema has no flags as those of /${source}/${flags}.`);
  return { type: 'string', pattern: source };
}

function schemaOfIsIn(argument: unknown): JsonSchema {
  const values = argument as readonly unknown[];
  return values.every((value) => typeof value === 'string') ? { type: 'string', enum: values } : { enum: values };
}
