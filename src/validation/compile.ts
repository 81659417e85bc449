import { getMetadataStorage } from 'class-validator';
import { isObject } from '../json.js';
import type { Check, CheckOptions } from './check.js';
import { every } from './combine.js';
import { compileProperty, type Metadata, type PropertyCheck } from './compile-property.js';
import { isClosed } from './decorators.js';
import { type Definitions, described, type JsonSchema, orNull, schemaOf } from './json-schema.js';
import { refuseUnknown } from './refuse-unknown.js';
import type { Violation } from './violation.js';
import { wrongType } from './violations.js';

/** A class whose properties carry class-validator decorators. */
export type DecoratedClass = abstract new () => object;

/** Throws the ApiError of the first violation in a value. The value is not changed. */
export type Validate = (value: unknown, options: CheckOptions) => void;

/** The metadata of a class by property, both in the order of declaration. */
function metadataByProperty(target: DecoratedClass): ReadonlyMap<string, readonly Metadata[]> {
  const properties = new Map<string, Metadata[]>();
  for (const metadata of getMetadataStorage().getTargetValidationMetadatas(target, '', true, false)) {
    const known = properties.get(metadata.propertyName);
    // Decorators of one property run from last to first.
    if (known === undefined) properties.set(metadata.propertyName, [metadata]);
    else known.unshift(metadata);
  }
  if (properties.size === 0) throw new Error(`${target.name} has no class-validator decorators.`);
  return properties;
}

/** The members that a class declares. */
export function membersOf(target: DecoratedClass): ReadonlySet<string> {
  return new Set(metadataByProperty(target).keys());
}

function checkMembers(properties: readonly PropertyCheck[]): Check {
  return (value, options) => {
    for (const property of properties) {
      const violation: Violation | null = property.check((value as Record<string, unknown>)[property.name], options);
      if (violation !== null) return violation.under(property.name);
    }
    return null;
  };
}

/**
 * The check for objects of a class: properties in the order of declaration, a subclass's before inherited ones. All
 * metadata is read here, so that unsupported constraints fail at start.
 */
export function nested(target: DecoratedClass): Check {
  const properties = metadataByProperty(target);
  const compiled = compileProperties(target, properties);
  const members = checkMembers(compiled.filter((property) => property !== null));
  const known: ReadonlySet<string> = new Set(properties.keys());
  const closed: Check = (value, options) => refuseUnknown(value as object, known, options);
  const check = isClosed(target) ? every([closed, members]) : members;
  const object: Check = (value, options) => (isObject(value) ? check(value, options) : wrongType('an object', value));
  return described(object, (definitions) =>
    definitions.refer(target.name, target, () => schemaOfObject(target, definitions)),
  );
}

function compileProperties(
  target: DecoratedClass,
  properties: ReadonlyMap<string, readonly Metadata[]>,
): readonly (PropertyCheck | null)[] {
  return [...properties].map(([name, metadata]) => compileProperty(target.name, name, metadata));
}

/** A property of a class as documents describe it. */
export interface PropertySchema {
  readonly name: string;
  /** Accepts no null. */
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** The schemas of a class's properties, in the order of declaration. Properties that are not checked accept anything. */
export function propertiesOf(target: DecoratedClass, definitions: Definitions): readonly PropertySchema[] {
  const properties = metadataByProperty(target);
  const names = [...properties.keys()];
  return compileProperties(target, properties).map((property, index) => {
    if (property === null) return { name: names[index] ?? '', schema: {}, isRequired: false, isNullable: true };
    const { name, ofValue, isRequired, isNullable } = property;
    return { name, schema: schemaOf(ofValue, definitions), isRequired, isNullable };
  });
}

/**
 * The schema of the objects of a class. Unknown members are accepted, as the service does by default.
 *
 * @param only the members to describe; all by default
 */
export function schemaOfObject(
  target: DecoratedClass,
  definitions: Definitions,
  only?: ReadonlySet<string>,
): JsonSchema {
  const properties = propertiesOf(target, definitions).filter(({ name }) => only?.has(name) !== false);
  const required = properties.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      properties.map(({ name, schema, isNullable }) => [name, isNullable ? orNull(schema) : schema]),
    ),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Compiles a decorated class once; a validation then costs a few comparisons per property and copies nothing. */
export function compile(target: DecoratedClass): Validate {
  const check = nested(target);
  return (value, options) => {
    const violation = check(value, options);
    if (violation !== null) throw violation.toError();
  };
}

/** Objects of a class and nothing else, whatever UNKNOWN_PARAMETERS says: where a misspelt member would let more pass than was meant. */
export function exactly(target: DecoratedClass): Check {
  const [whole, known] = [nested(target), membersOf(target)];
  const strict = { unknownParameters: 'reject', typos: undefined } as const;
  return described(
    (value, options) => whole(value, options) ?? refuseUnknown(value as object, known, strict),
    (definitions) => schemaOf(whole, definitions),
  );
}
