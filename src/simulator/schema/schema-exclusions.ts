import type { SchemaObject } from './schema-parts.js';
import { isSchemaObject, toTypes, toValues } from './schema-parts.js';

/** What a value must not be, as far as `not` names it. */
export interface Exclusions {
  readonly types: readonly string[];
  /** Types that are excluded in part: a value of another type is certain to do. */
  readonly riskyTypes: readonly string[];
  /** As JSON. */
  readonly values: ReadonlySet<string>;
}

/** What the `not` of all schemas together excludes. */
export function listExclusions(parts: readonly SchemaObject[]): Exclusions {
  const negated = parts.map(({ not }) => not).filter(isSchemaObject);
  const unvalued = negated.filter((not) => toValues(not) === undefined);
  const [plain, partial] = [unvalued.filter(isPlain), unvalued.filter((not) => !isPlain(not))];
  return {
    types: plain.flatMap(listTypes),
    riskyTypes: partial.flatMap(listTypes),
    values: new Set(negated.flatMap((not) => toValues(not) ?? []).map((value) => JSON.stringify(value))),
  };
}

/** Whether a value is one of those that `not` names. */
export function isExcluded(value: unknown, { values }: Exclusions): boolean {
  return values.size > 0 && values.has(JSON.stringify(value));
}

function isPlain(not: SchemaObject): boolean {
  return Object.keys(not).length === 1;
}

function listTypes({ type }: SchemaObject): readonly string[] {
  const types = toTypes(type) ?? [];
  // Every integer is a number.
  return types.includes('number') ? [...types, 'integer'] : types;
}
