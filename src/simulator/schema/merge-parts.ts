import type { Exclusions } from './schema-exclusions.js';
import { isExcluded, listExclusions } from './schema-exclusions.js';
import type { SchemaObject } from './schema-parts.js';
import { toStrings, toTypes, toValues } from './schema-parts.js';

/** What several schemas for one value ask of it together. */
export interface MergedSchema {
  /** Undefined where any type will do. */
  readonly types: readonly string[] | undefined;
  /** What `not` names. */
  readonly excluded: Exclusions;
  readonly values: readonly unknown[] | undefined;
  readonly required: readonly string[];
  readonly patterns: readonly string[];
  readonly format: string | undefined;
  /** The tightest of each bound, `minLength`, `maximum` and so on. */
  readonly bounds: Readonly<Partial<Record<Bound, number>>>;
  readonly parts: readonly SchemaObject[];
}

const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'multipleOf'] as const;
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const;

/** A keyword whose value is a number. */
export type Bound = (typeof LOWER)[number] | (typeof UPPER)[number];

const KEYWORDS_OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'propertyNames'],
  array: ['items', 'prefixItems', 'contains', 'minItems', 'maxItems', 'uniqueItems'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
};

/** Joins schemas that have no references and no alternatives left. */
export function mergeParts(parts: readonly SchemaObject[]): MergedSchema {
  const typeLists = parts.map(({ type }) => toTypes(type)).filter((types) => types !== undefined);
  const valueLists = parts.map(toValues).filter((values) => values !== undefined);
  const excluded = listExclusions(parts);
  return {
    types: typeLists.length > 0 ? typeLists.reduce(intersectTypes) : inferTypes(parts),
    excluded,
    values:
      valueLists.length > 0
        ? valueLists.reduce(intersectValues).filter((value) => !isExcluded(value, excluded))
        : undefined,
    required: [...new Set(parts.flatMap(({ required }) => toStrings(required)))],
    patterns: parts.flatMap(({ pattern }) => toStrings([pattern])),
    format: parts.flatMap(({ format }) => toStrings([format])).at(-1),
    bounds: tightenBounds(parts),
    parts,
  };
}

function intersectTypes(one: readonly string[], other: readonly string[]): readonly string[] {
  return one.flatMap((type) => {
    if (other.includes(type)) return [type];
    // Every integer is a number.
    return (type === 'integer' && other.includes('number')) || (type === 'number' && other.includes('integer'))
      ? ['integer']
      : [];
  });
}

function inferTypes(parts: readonly SchemaObject[]): readonly string[] | undefined {
  const types = Object.entries(KEYWORDS_OF_TYPE).filter(([, keywords]) =>
    parts.some((part) => keywords.some((keyword) => Object.hasOwn(part, keyword))),
  );
  return types.length > 0 ? types.slice(0, 1).map(([type]) => type) : undefined;
}

function intersectValues(one: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  const kept = new Set(other.map((value) => JSON.stringify(value)));
  return one.filter((value) => kept.has(JSON.stringify(value)));
}

function tightenBounds(parts: readonly SchemaObject[]): MergedSchema['bounds'] {
  const bounds: Partial<Record<Bound, number>> = {};
  for (const part of parts) {
    for (const name of LOWER) {
      const value = part[name];
      if (typeof value === 'number') bounds[name] = Math.max(bounds[name] ?? value, value);
    }
    for (const name of UPPER) {
      const value = part[name];
      if (typeof value === 'number') bounds[name] = Math.min(bounds[name] ?? value, value);
    }
  }
  return bounds;
}
