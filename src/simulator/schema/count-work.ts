import { REQUIRED_ONLY } from './draw-value.js';
import type { DrawSettings } from './draw-value.js';
import type { PlainDocument, PlainSchema } from './plain-schema.js';
import { compilePattern } from './plain-values.js';
import { isSchemaObject, listAlternatives, toEntries, toList, toNumber, toStrings, toTypes } from './schema-parts.js';
import type { SchemaObject } from './schema-parts.js';

/** What to count: every branch or only the smallest one, and optional members. */
interface CountSettings extends DrawSettings {
  readonly smallest?: boolean;
}

const SMALLEST: CountSettings = { ...REQUIRED_ONLY, smallest: true };

/** Estimates the work of drawing and checking values of a schema, in time linear in its size. */
export class WorkCounter {
  private readonly values = new Map<string, Memory>();
  private readonly checks = new Memory();

  constructor(private readonly document: PlainDocument) {}

  /** Parts of the smallest value, estimated from required properties and lengths. Infinity: there is no value. */
  countSmallest(schema: PlainSchema): number {
    return this.count(schema, SMALLEST.depth, SMALLEST);
  }

  /** Parts that json-schema-faker draws at worst, if it tries every branch. */
  countDraws(schema: PlainSchema, settings: DrawSettings): number {
    return this.count(schema, settings.depth, settings);
  }

  private count(schema: unknown, depth: number, settings: CountSettings): number {
    const { smallest = false, optionals, items: mostItems } = settings;
    if (!isSchemaObject(schema)) return schema === false && smallest ? Infinity : 1;
    if ('const' in schema || 'enum' in schema) return 1;
    const types = toTypes(schema.type);
    if (smallest && types?.some((type) => type === 'null' || type === 'boolean') === true) return 1;
    if (smallest && depth === 0) return Infinity;
    const key = `${String(smallest)} ${optionals > 0 ? 1 : 0} ${mostItems}`;
    let memory = this.values.get(key);
    if (memory === undefined) this.values.set(key, (memory = new Memory()));
    return memory.recall(schema, depth, () => {
      const here = (inner: unknown): number => this.count(inner, depth, settings);
      const below = (inner: unknown): number => this.count(inner, Math.max(0, depth - 1), settings);
      const lists = listAlternatives(schema);
      const own = 1 + measureString(schema) + sum(this.listReferences(schema).map(below));
      const branches = smallest
        ? [...toList(schema.allOf).map(here), ...lists.map((list) => Math.min(...list.map(here)))]
        : // If all fail, the first one is tried again.
          [...listBranches(schema), ...lists.flatMap((list) => list.slice(0, 1))].map(here);
      const minItems = toNumber(schema.minItems, 0);
      if (depth === 0) return own + sum(branches) + minItems;
      const tuple = toList(schema.prefixItems).slice(0, Math.max(minItems, mostItems));
      const items = Math.max(minItems, Math.min(mostItems, toNumber(schema.maxItems, Infinity))) - tuple.length;
      const names = optionals > 0 ? toEntries(schema.properties).map(([name]) => name) : toStrings(schema.required);
      const members = [...names.flatMap((name) => listMemberSchemas(schema, name, smallest)), ...tuple].map(below);
      const invented = sum([1, ...(smallest ? [] : listMemberSchemas(schema, undefined, smallest).map(below))]);
      const more = times(toNumber(schema.minProperties, 0) - names.length, invented);
      const contained = toNumber(schema.maxContains, toNumber(schema.minContains, 1));
      const found = schema.contains === undefined || smallest ? 0 : times(contained, below(schema.contains));
      return own + sum(branches) + sum(members) + more + found + times(items, below(schema.items ?? true));
    });
  }

  /** Schemas that Ajv evaluates at worst to check a value. Infinity: a reference refers to itself. */
  countChecks(schema: PlainSchema, value: unknown): number {
    if (!isSchemaObject(schema)) return 1;
    return this.checks.recall(schema, value, () => {
      const count = (inner: unknown, part: unknown): number => this.countChecks(inner as PlainSchema, part);
      const here = [...this.listReferences(schema), ...listBranches(schema)].map((inner) => count(inner, value));
      const parts: number[] = [];
      if (Array.isArray(value)) {
        for (const [index, item] of value.entries()) {
          for (const inner of [toList(schema.prefixItems)[index], schema.items, schema.contains]) {
            if (inner !== undefined) parts.push(count(inner, item));
          }
        }
      }
      for (const [name, part] of toEntries(value)) {
        // A declared property may match a pattern too.
        const inner = [...listMemberSchemas(schema, name, false), ...listMemberSchemas(schema, undefined, false)];
        parts.push(...[...new Set(inner)].map((member) => count(member, part)));
        if (schema.propertyNames !== undefined) parts.push(count(schema.propertyNames, name));
      }
      return 1 + sum(here) + sum(parts);
    });
  }

  private listReferences({ $ref }: SchemaObject): readonly unknown[] {
    return typeof $ref === 'string' ? [this.document.definitions.get($ref)] : [];
  }
}

/** Caches counts. A schema that contains itself counts as Infinity within itself. */
class Memory {
  private readonly counts = new Map<SchemaObject, Map<unknown, number>>();

  recall(schema: SchemaObject, key: unknown, count: () => number): number {
    let known = this.counts.get(schema);
    if (known === undefined) this.counts.set(schema, (known = new Map<unknown, number>()));
    let counted = known.get(key);
    if (counted === undefined) {
      known.set(key, Infinity);
      known.set(key, (counted = count()));
    }
    return counted;
  }
}

/** An estimate of the minimum characters of a string. */
function measureString({ minLength, pattern }: SchemaObject): number {
  return toNumber(minLength, 0) + (typeof pattern === 'string' ? measurePattern(pattern) : 0);
}

/** An estimate of the characters that json-schema-faker generates for a pattern. */
function measurePattern(pattern: string): number {
  let nesting = 0;
  let deepest = 0;
  for (const character of pattern) {
    if (character === '(') deepest = Math.max(deepest, ++nesting);
    if (character === ')') nesting--;
  }
  return [...pattern.matchAll(/\{(\d+)/g)].reduce((all, [, most]) => all * Math.max(1, Number(most)), 3 ** deepest);
}

/** Subschemas that apply to the same value. */
function listBranches(schema: SchemaObject): readonly unknown[] {
  const { not, if: condition, then: consequence, else: alternative } = schema;
  return [
    ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap(toList),
    ...[not, condition, consequence, alternative].filter((inner) => inner !== undefined),
    ...toEntries(schema.dependentSchemas).map(([, inner]) => inner),
  ];
}

/** Schemas of a property. Undeclared names: matching patterns or else `additionalProperties`; all of them unless `exact`. */
function listMemberSchemas(schema: SchemaObject, name: string | undefined, exact: boolean): readonly unknown[] {
  const { properties, additionalProperties, patternProperties } = schema;
  if (name !== undefined && isSchemaObject(properties) && Object.hasOwn(properties, name)) return [properties[name]];
  const patterns = toEntries(patternProperties);
  if (!exact) return [additionalProperties ?? true, ...patterns.map(([, inner]) => inner)];
  const matching = patterns.filter(([pattern]) => compilePattern(pattern).test(name ?? ''));
  return matching.length > 0 ? matching.map(([, inner]) => inner) : [additionalProperties ?? true];
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

/** Multiplies, but 0 times Infinity is 0. */
function times(count: number, each: number): number {
  return count <= 0 ? 0 : count * each;
}
